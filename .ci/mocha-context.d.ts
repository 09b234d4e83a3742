declare namespace Mocha {
  interface Context {
    /**
     * Skips the test because a program or a server is missing, and prints the reason. In a hook `before`, skips all
     * tests of the describe. Throws with `CI=true`, where no test may be skipped.
     */
    skipBecause(why: string, cause?: unknown): never;
  }
}
