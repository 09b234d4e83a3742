// A root hook of every test run that makes the causes of errors enumerable, so that mocha prints them: a worker of a
// parallel run sends only the enumerable properties of an error to the main process.
export const mochaHooks = {
  afterEach() {
    for (let { err } = this.currentTest; err?.cause instanceof Error; err = err.cause) {
      Object.defineProperty(err, 'cause', { enumerable: true });
    }
  },
};
