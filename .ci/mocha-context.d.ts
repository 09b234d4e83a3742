declare namespace Mocha {
  interface Context {
    /**
     * Skips the test, or all tests after a `before`, because a program or a server is missing, and prints the reason. With `CI=true`,
     * where nothing may be skipped, it throws instead.
     */
    skipBecause(why: string, cause?: unknown): never;
  }
}
