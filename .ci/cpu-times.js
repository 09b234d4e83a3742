// Root hooks that measure the CPU time of tests and files, with HOMEOSTAT_TEST_CPU=<how many to print>. The reporter
// prints them. The CPU time of a test includes its hooks `beforeEach` and `afterEach`, all threads of the process, and
// the child processes that have ended. It includes neither child processes that still run, nor database servers. CPU
// time between two tests belongs to hooks: `after` of the first test's describe, and `before` of the second test's
// describe. It is printed under the name of the second describe. The CPU time of a file includes its import. The wait
// of a test is its wall time without its CPU time: it waits for a timer, a disk, a database server, or another process
// that uses the core.
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** The maximum length of each printed list: of files, hooks, tests and waits. With 0, nothing is measured. */
const count = Number(process.env.HOMEOSTAT_TEST_CPU ?? 0);

// Workers of mocha are child processes, and inherit this variable. So all of them write to the file of the main
// process.
process.env.HOMEOSTAT_TEST_CPU_FILE ??= join(tmpdir(), `homeostat-cpu-${process.pid}.ndjson`);
const path = process.env.HOMEOSTAT_TEST_CPU_FILE;

/** The unit in which Linux counts CPU time: a hundredth of a second. */
const tickMs = 10;

/** Returns the CPU time of the child processes that have ended; 0 where there is no /proc. */
function childrenMs() {
  try {
    // The second field is the program's name in parentheses, which may contain spaces. So the line is split after it,
    // and `fields[0]` is the third field.
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
let beganAtMs = 0;

const hooks = {
  beforeEach() {
    testStartMs = cpuMs();
    beganAtMs = performance.now();
    record({ hook: this.currentTest.parent.fullTitle(), ms: testStartMs - testEndMs });
  },
  afterEach() {
    testEndMs = cpuMs();
    const test = this.currentTest.fullTitle();
    const ms = testEndMs - testStartMs;
    record({ test, ms });
    record({ wait: test, ms: Math.max(0, performance.now() - beganAtMs - ms) });
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

const titles = { file: 'CPU time of', hook: 'CPU time of', test: 'CPU time of', wait: 'Time of' };

/**
 * Prints the files, hooks and tests that took the most CPU time, and the tests that waited the longest. Deletes the
 * file with the measurements.
 */
export function printCpuTimes() {
  if (!(count > 0)) return;
  const entries = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  rmSync(path);
  for (const [what, title] of Object.entries(titles)) {
    const measured = entries.filter((entry) => entry[what] !== undefined).sort((a, b) => b.ms - a.ms);
    const totalMs = measured.reduce((sum, { ms }) => sum + ms, 0);
    console.log(`\n  ${title} ${measured.length} ${what}s: ${(totalMs / 1000).toFixed(1)} s`);
    for (const entry of measured.slice(0, count))
      console.log(`  ${String(Math.round(entry.ms)).padStart(6)} ms  ${entry[what]}`);
  }
}
