// A root hook of every test run, by which the cause of an error is printed. A worker of a parallel run sends only the
// enumerable properties of an error to the main process, and `cause` is not enumerable.
export const mochaHooks = {
  afterEach() {
    for (let { err } = this.currentTest; err?.cause instanceof Error; err = err.cause) {
      Object.defineProperty(err, 'cause', { enumerable: true });
    }
  },
};
