// Puts a program `node` first on the PATH of a whole run. It runs the tests' own node with the tests' V8 options
// (`node-option` in .mocharc.js), which an environment variable cannot set. With these options npm, and other
// JavaScript programs on the PATH, take a fifth less CPU time. Tests that start process.execPath pass it
// process.execArgv instead.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

let folder;

export function mochaGlobalSetup() {
  if (process.platform === 'win32' || process.execArgv.length === 0) return;
  folder = mkdtempSync(join(tmpdir(), 'homeostat-node-'));
  const command = [process.execPath, ...process.execArgv].map((each) => `'${each}'`).join(' ');
  writeFileSync(join(folder, 'node'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
}

export function mochaGlobalTeardown() {
  if (folder !== undefined) rmSync(folder, { recursive: true });
}
