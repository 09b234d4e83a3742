// Root hooks that measure the CPU time of tests and files, with HOMEOSTAT_TEST_CPU=<how many to print>. The reporter
// prints them. The time of a test includes its hooks `beforeEach` and `afterEach`, all threads of the process, and
// the child processes that have ended; not those that run on, and not database servers. What passes between two tests
// is the time of the hooks `before` of the second one's describe, and of the hooks `after` of the first one's, which
// are printed under the name of the second one's. The time of a file includes its import.
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** How many files and tests are printed; 0: none are measured. */
const count = Number(process.env.HOMEOSTAT_TEST_CPU ?? 0);

// Workers of mocha are child processes: they inherit the name, which has the id of the first process.
process.env.HOMEOSTAT_TEST_CPU_FILE ??= join(tmpdir(), `homeostat-cpu-${process.pid}.ndjson`);
const path = process.env.HOMEOSTAT_TEST_CPU_FILE;

/** The kernel counts in hundredths of a second. */
const tickMs = 10;

/** The CPU time of child processes that have ended; 0 where there is no /proc. */
function childrenMs() {
  try {
    // The name of the program, in parentheses, may contain spaces. The fields after it begin with the third.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
    return (Number(fields[13]) + Number(fields[14])) * tickMs;
  } catch {
    return 0;
  }
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childrenMs();
}

const record = (entry) => appendFileSync(path, `${JSON.stringify(entry)}\n`);

let fileStartMs = 0;
let testStartMs = 0;
let testEndMs = 0;

const hooks = {
  beforeEach() {
    testStartMs = cpuMs();
    record({ hook: this.currentTest.parent.fullTitle(), ms: testStartMs - testEndMs });
  },
  afterEach() {
    testEndMs = cpuMs();
    record({ test: this.currentTest.fullTitle(), ms: testEndMs - testStartMs });
  },
  afterAll() {
    const endMs = cpuMs();
    const { file } = this.test.parent.suites.at(-1) ?? {};
    record({ file: file === undefined ? 'no describe' : relative('', file), ms: endMs - fileStartMs });
    fileStartMs = endMs;
    testEndMs = endMs;
  },
};

export const mochaHooks = count > 0 ? hooks : {};

/** Prints the files and tests that took the most CPU time, and deletes what was recorded. */
export function printCpuTimes() {
  if (!(count > 0)) return;
  const entries = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  rmSync(path);
  for (const what of ['file', 'hook', 'test']) {
    const measured = entries.filter((entry) => entry[what] !== undefined).sort((a, b) => b.ms - a.ms);
    const totalMs = measured.reduce((sum, { ms }) => sum + ms, 0);
    console.log(`\n  CPU time of ${measured.length} ${what}s: ${(totalMs / 1000).toFixed(1)} s`);
    for (const entry of measured.slice(0, count))
      console.log(`  ${String(Math.round(entry.ms)).padStart(6)} ms  ${entry[what]}`);
  }
}
