// `node .ci/node-versions.js` runs the tests on each even major version of Node that the packages support; `npm test`
// runs them on the node of the PATH. All suites run on the newest LTS. The other versions run a part: the contract of
// the SQLite store with and without workers (on node:sqlite from Node 22.13 on), requests to a server, and the limit of
// its memory. The script needs the build, and the npm registry, whose packages `node-<platform>-<architecture>` contain
// the programs of Node. The first version that fails, or cannot be downloaded, ends and fails the run. The output of
// the failed tests is printed.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';

/** The oldest version that package.json allows, and the newest of each later even major version. */
const versions = ['20.19.0', '22.23.3', '24.21.0', '26.10.0'];
/**
 * This script runs all suites on this version, and a part of them on the other versions. (`npm test` runs all suites on
 * the node of the PATH, which in CI has the oldest major version.)
 */
const newestLts = '24.21.0';
const files = [
  'apiserver/dist/store/sqlite/sqlite-store.test.js',
  'apiserver/dist/store/sqlite/sqlite-backup.test.js',
  'apiserver/dist/store/owner/owned-store.test.js',
  'test/dist/objects-writes.test.js',
  'test/dist/full-memory.test.js',
];

const root = resolve(import.meta.dirname, '..');
const cache = process.env.HOMEOSTAT_NODE_VERSIONS ?? join(tmpdir(), 'homeostat-node-versions');
const attempts = 3;

/** Returns the path of the program `node` of a version. Downloads it unless it is there already. */
function download(version) {
  const program = join(cache, version, 'package/bin/node');
  if (existsSync(program)) return program;
  const name = `node-${process.platform}-${process.arch}@${version}`;
  const folder = join(cache, `${version}.${process.pid}`);
  mkdirSync(folder, { recursive: true });
  for (let attempt = 1; ; attempt += 1) {
    try {
      // npm compares the archive with the digest in the registry, so no further check is needed.
      const pack = ['pack', '--silent', '--pack-destination', folder, name];
      const archive = execFileSync('npm', pack, { cwd: folder, encoding: 'utf8', timeout: 120_000 }).trim();
      execFileSync('tar', ['xzf', join(folder, archive), '-C', folder]);
      rmSync(join(folder, archive));
      renameSync(folder, join(cache, version));
      return program;
    } catch (error) {
      if (attempt < attempts) continue;
      rmSync(folder, { recursive: true, force: true });
      throw new Error(`${name} could not be downloaded from the npm registry: ${error.message}`, { cause: error });
    }
  }
}

/** The arguments of mocha that run a part of the suites, without `.mocharc.js`, and with only two of its hook files. */
const partOfSuites = [
  '--no-config',
  '--exit',
  '--timeout=60000',
  '--reporter=dot',
  '--require=./.ci/leak-check.js',
  '--require=./.ci/tiers.js',
  ...files,
];
const partTimeoutMs = 300_000;

/**
 * The arguments of mocha that run all suites, with the options of `.mocharc.js`. No test may be skipped, as in the
 * `npm test` of `.ci/run`.
 */
const allSuites = ['--forbid-pending'];
const allTimeoutMs = 2_400_000;

function runTests(version) {
  const isWhole = version === newestLts;
  const program = download(version);
  const args = [join(root, 'node_modules/mocha/bin/mocha.js'), ...(isWhole ? allSuites : partOfSuites)];
  const startMs = performance.now();
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: isWhole ? allTimeoutMs : partTimeoutMs,
    maxBuffer: 1024 ** 3,
    // With this PATH, npm and other programs that the tests start also run on the Node version under test.
    env: { ...process.env, PATH: `${dirname(program)}${delimiter}${process.env.PATH}` },
  });
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  const suites = isWhole ? 'all suites' : 'a part of the suites';
  console.log(`${status === 0 ? 'passed' : 'FAILED'}: ${suites} on Node ${version} (${seconds} s)`);
  // The summary of the tests is the last line of stdout, so stdout is printed after stderr.
  if (status !== 0) process.stdout.write(`${stderr}${stdout}`);
  return status === 0;
}

try {
  if (!versions.every(runTests)) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
