// A root hook of every test run: what an error was caused by is printed with it. A worker of a parallel run sends only
// the enumerable properties of an error to the process that prints, and `cause` is none.
export const mochaHooks = {
  afterEach() {
    for (let { err } = this.currentTest; err?.cause instanceof Error; err = err.cause) {
      Object.defineProperty(err, 'cause', { enumerable: true });
    }
  },
};
