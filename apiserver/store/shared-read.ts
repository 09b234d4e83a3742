/**
 * One read for all waiting callers. A caller that comes during a read does not join it, but the next: the running one
 * may have read before a write that was acknowledged since, and a linearizable read has to see that write.
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
