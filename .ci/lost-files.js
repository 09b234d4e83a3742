// Reports the test files that did not end. When a process of a parallel run ends in the middle of a file, for example
// by a signal, mocha does not report the file. So each process writes the name of its test file into a folder of the
// run, and deletes the name when the test file has ended. The names that are left are printed at the end of the run.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const variable = 'HOMEOSTAT_TEST_FILES_UNDER_WAY';

export function mochaGlobalSetup() {
  process.env[variable] = mkdtempSync(join(tmpdir(), 'homeostat-test-files-'));
}

export function mochaGlobalTeardown() {
  const folder = process.env[variable];
  for (const id of readdirSync(folder)) {
    console.log(`  process ${id} ended in the middle of the test file ${readFileSync(join(folder, id), 'utf8')}`);
  }
  rmSync(folder, { recursive: true });
}

const own = () => join(process.env[variable], String(process.pid));

export const mochaHooks = {
  beforeAll() {
    // In a run with one process, all files have the same root suite, so these are the names of all files.
    writeFileSync(own(), this.test.parent.suites.map(({ file }) => file).join(' '));
  },
  afterAll() {
    rmSync(own());
  },
};
