// Root hooks of every test run: which tests run, and how long each may take.
// Tests and describes with [slow] in their title run with CI=true or HOMEOSTAT_TEST_SLOW=true only; without, their hooks do not run
// either. A slow test may take twelve times as long as others, unless it says how long.
// All times are multiplied by HOMEOSTAT_TEST_TIME_FACTOR: 1 by default, 6 with CI=true. The machine that runs CI may be busy, and
// a test that fails for being slow costs more than one that hangs for a minute.
export const slowTag = '[slow]';

const isSet = (name) => process.env[name] === 'true';

export const runsSlowTests = isSet('CI') || isSet('HOMEOSTAT_TEST_SLOW');

const slowFactor = 12;
const timeFactor = Number(process.env.HOMEOSTAT_TEST_TIME_FACTOR ?? (isSet('CI') ? 6 : 1));
if (!(timeFactor > 0)) throw new Error('HOMEOSTAT_TEST_TIME_FACTOR must be a positive number');

const hookLists = ['_beforeAll', '_beforeEach', '_afterEach', '_afterAll'];

/** Every test and hook of a suite and of those in it. */
function* runnablesOf(suite) {
  yield* suite.tests;
  for (const list of hookLists) yield* suite[list];
  for (const each of suite.suites) yield* runnablesOf(each);
}

const isSlow = (runnable) => runnable.titlePath().some((title) => title.includes(slowTag));

export const mochaHooks = {
  beforeAll() {
    const root = this.test.parent;
    const defaultMs = root.timeout();
    for (const runnable of runnablesOf(root)) {
      const givesItself = runnable.timeout() !== defaultMs;
      if (isSlow(runnable) && !runsSlowTests) runnable.pending = true;
      // mocha starts the timer of a hook again when its time is set, even if the hook has ended.
      if (root._beforeAll.includes(runnable)) continue;
      runnable.timeout(runnable.timeout() * timeFactor * (isSlow(runnable) && !givesItself ? slowFactor : 1));
    }
  },
};
