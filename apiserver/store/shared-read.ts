/**
 * One read for all that wait for it. Who comes while a read is under way does not join it, but the next: the one under
 * way may have looked before a write that was acknowledged since, and a linearizable read has to see that.
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
