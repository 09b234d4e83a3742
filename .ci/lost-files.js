// When a process of a parallel run ends in the middle of a file, for example by a signal, mocha does not report the
// file. So each process
// keeps the name of its file in a folder of the run, and the remaining names are printed at the end.
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
    console.log(`  process ${id} ended before its file did: ${readFileSync(join(folder, id), 'utf8')}`);
  }
  rmSync(folder, { recursive: true });
}

const own = () => join(process.env[variable], String(process.pid));

export const mochaHooks = {
  beforeAll() {
    // In one process all files have one root.
    writeFileSync(own(), this.test.parent.suites.map(({ file }) => file).join(' '));
  },
  afterAll() {
    rmSync(own());
  },
};
