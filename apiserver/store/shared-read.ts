/**
 * Shares a read among all waiting callers. A caller that comes during a read waits for the next read: a linearizable
 * read must see all writes that were acknowledged before the call, and the running read may be too early for this.
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
    // The read starts now, so later callers wait for the next one.
    this.#next = undefined;
    const read = this.#read();
    this.#underWay = read.catch(() => undefined);
    return read;
  }
}
