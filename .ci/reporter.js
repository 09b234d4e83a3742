// A reporter that prints mocha's dots, and a last line for people and machines: "412 passed, 0 failed, 3 skipped". The
// line before it has the number of slow tests that were left out.
import Mocha from 'mocha';
import { printCpuTimes } from './cpu-times.js';
import { runsSlowTests, slowTag } from './tiers.js';

const { EVENT_TEST_PENDING } = Mocha.Runner.constants;

export default class ClosingLineReporter extends Mocha.reporters.Dot {
  #skipped = [];
  #slow = 0;

  constructor(runner, options) {
    super(runner, options);
    runner.on(EVENT_TEST_PENDING, (test) => this.#notRun(test.fullTitle()));
  }

  #notRun(title) {
    if (!runsSlowTests && title.includes(slowTag)) this.#slow += 1;
    else this.#skipped.push(title);
  }

  /**
   * Prints the summary. mocha calls it after all tests and root hooks have ended; the argument of `exit` becomes the
   * exit code.
   */
  done(failures, exit) {
    const { passes } = this.stats;
    const skipped = this.#skipped.length;
    printCpuTimes();
    for (const title of this.#skipped) console.log(`  skipped: ${title}`);
    if (this.#slow > 0) console.log(`  left out: ${this.#slow} slow tests (npm run test:all runs all tests)`);
    if (passes === 0) console.log('  no test passed: such a run proves nothing, and counts as a failure');
    console.log(`\n${passes} passed, ${failures} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
    exit(passes === 0 ? Math.max(failures, 1) : failures);
  }
}
