// Root hooks of every test run that decide which tests run, and how long each may take. Tests and describes with [slow]
// in their title run only with CI=true or HOMEOSTAT_TEST_SLOW=true. If a describe does not run, its hooks do not run
// either. A slow test may take twelve times as long as other tests, unless it sets its own timeout. All timeouts are
// multiplied by HOMEOSTAT_TEST_TIME_FACTOR. Its default is 1. In a run with slow tests it is 3, because six processes
// share the cores. With CI=true it is 6, because the machine that runs CI may be busy.
// A test that fails only because the machine is slow costs more than a test that hangs for a minute.
export const slowTag = '[slow]';

const isSet = (name) => process.env[name] === 'true';

export const runsSlowTests = isSet('CI') || isSet('HOMEOSTAT_TEST_SLOW');

function defaultFactor() {
  if (isSet('CI')) return 6;
  return runsSlowTests ? 3 : 1;
}

const slowFactor = 12;
export const timeFactor = Number(process.env.HOMEOSTAT_TEST_TIME_FACTOR ?? defaultFactor());
if (!(timeFactor > 0)) throw new Error('HOMEOSTAT_TEST_TIME_FACTOR must be a positive number');
// `eventually` and `testPatienceMs` read the variable, so that their waits in tests are longer, too.
process.env.HOMEOSTAT_TEST_TIME_FACTOR = String(timeFactor);

const beforeAll = '_beforeAll';
const hookLists = [beforeAll, '_beforeEach', '_afterEach', '_afterAll'];

/** Yields a suite and all suites in it. */
function* suitesOf(suite) {
  yield suite;
  for (const each of suite.suites) yield* suitesOf(each);
}

const isSlow = (runnable) => runnable.titlePath().some((title) => title.includes(slowTag));

/**
 * Marks slow suites and slow tests as pending. The hooks of a pending suite do not run; mocha cannot skip a hook alone.
 */
function leaveOutSlow(suite) {
  for (const each of [suite, ...suite.tests]) if (isSlow(each)) each.pending = true;
}

/**
 * Multiplies the timeout of a test or hook by the time factor of this run and, if a slow test sets no timeout of its
 * own, by twelve. `defaultMs` is the timeout of tests that set none.
 */
function scaleTimeout(runnable, defaultMs) {
  const isSlowByDefault = isSlow(runnable) && runnable.timeout() === defaultMs;
  runnable.timeout(runnable.timeout() * timeFactor * (isSlowByDefault ? slowFactor : 1));
  // A running test may set its own timeout by calling `timeout`. This value is multiplied by the time factor, too.
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
      // The root's own `before` hooks are left out: mocha restarts the timer of a hook when its timeout is set, even if
      // the hook has ended.
      for (const each of runnables) if (!root[beforeAll].includes(each)) scaleTimeout(each, defaultMs);
    }
  },
};
