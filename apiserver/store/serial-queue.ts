/** Runs tasks one after the other, in the order of their submission. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Runs a task after all earlier ones. The returned promise settles like the task. A failed task does not affect later
   * ones.
   */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all submitted tasks have ended. */
  async drained(): Promise<void> {
    await this.#last;
  }
}
