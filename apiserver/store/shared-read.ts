/**
 * One read for all waiting callers. A caller that comes during a read joins the next one: a linearizable read has to
 * see all acknowledged writes, and the running one may have read before the latest of them.
 */
export class SharedRead<Result> {
  readonly #read: () => Promise<Result>;
  #underWay: Promise<unknown> = Promise.resolve();
  #next: Promise<Result> | undefined;

  constructor(read: () => Promise<Result>) {
    this.#read = read;
  }

  get(): Promise<Result> {
    this.#next ??= this.#start();
    return this.#next;
  }

  async #start(): Promise<Result> {
    await this.#underWay;
    // The read is being sent from here on: later callers take the next one.
    this.#next = undefined;
    const read = this.#read();
    this.#underWay = read.catch(() => undefined);
    return read;
  }
}
