/** Runs tasks one after the other, in the order they came. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as the task does. A task that fails holds up none behind it. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all that came before is done. */
  async drained(): Promise<void> {
    await this.#last;
  }
}
