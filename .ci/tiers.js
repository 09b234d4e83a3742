// Root hooks of every test run: which tests run, and how long each may take. Tests and describes with [slow] in their
// title run with CI=true or HOMEOSTAT_TEST_SLOW=true only; without, their hooks do not run either. A slow test may
// take twelve times as long as others, unless it sets its own time. All times are multiplied by
// HOMEOSTAT_TEST_TIME_FACTOR: 1 by default, 6 with CI=true. The machine that runs CI may be busy, and a test that
// fails for being slow costs more than one that hangs for a minute.
export const slowTag = '[slow]';

const isSet = (name) => process.env[name] === 'true';

export const runsSlowTests = isSet('CI') || isSet('HOMEOSTAT_TEST_SLOW');

const slowFactor = 12;
export const timeFactor = Number(process.env.HOMEOSTAT_TEST_TIME_FACTOR ?? (isSet('CI') ? 6 : 1));
if (!(timeFactor > 0)) throw new Error('HOMEOSTAT_TEST_TIME_FACTOR must be a positive number');
// Waits of tests with `eventually` or `testPatienceMs` are longer, too.
process.env.HOMEOSTAT_TEST_TIME_FACTOR = String(timeFactor);

const beforeAll = '_beforeAll';
const hookLists = [beforeAll, '_beforeEach', '_afterEach', '_afterAll'];

/** A suite and all suites in it. */
function* suitesOf(suite) {
  yield suite;
  for (const each of suite.suites) yield* suitesOf(each);
}

const isSlow = (runnable) => runnable.titlePath().some((title) => title.includes(slowTag));

/** A suite that is left out takes its hooks with it, because mocha cannot leave out only a hook. */
function leaveOutSlow(suite) {
  for (const each of [suite, ...suite.tests]) if (isSlow(each)) each.pending = true;
}

/** `defaultMs` is the time of tests without their own. */
function scaleTimeout(runnable, defaultMs) {
  const isSlowByDefault = isSlow(runnable) && runnable.timeout() === defaultMs;
  runnable.timeout(runnable.timeout() * timeFactor * (isSlowByDefault ? slowFactor : 1));
  // A test that sets its time while it runs calls this one.
  const { timeout } = runnable;
  runnable.timeout = (...ms) => timeout.apply(runnable, ms.length === 0 ? ms : [ms[0] * timeFactor]);
}

export const mochaHooks = {
  beforeAll() {
    const root = this.test.parent;
    const defaultMs = root.timeout();
    for (const suite of suitesOf(root)) {
      if (!runsSlowTests) leaveOutSlow(suite);
      const runnables = [...suite.tests, ...hookLists.flatMap((list) => suite[list])];
      // mocha starts the timer of a hook again when its time is set, even if the hook has ended.
      for (const each of runnables) if (!root[beforeAll].includes(each)) scaleTimeout(each, defaultMs);
    }
  },
};
