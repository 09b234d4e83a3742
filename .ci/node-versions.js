// `node .ci/node-versions.js` runs the tests on the lines of Node that the packages support, besides the run on the node of the PATH
// (`npm test`): all suites on the newest LTS; on the others a part, which is the contract of the SQLite store, that is node:sqlite from
// Node 22.13 on, with workers and without, requests to a server, and the limit of its memory. It needs the build, and the npm registry,
// whose packages `node-<platform>-<architecture>` have Node's own programs. A version that cannot be downloaded fails the run. The first
// version that fails ends it, with the output of its tests.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';

/** The oldest that package.json allows, and the newest of each later line. */
const versions = ['20.19.0', '22.23.3', '24.21.0', '26.10.0'];
/** All suites run on this one, and on the node of the PATH, which is of the oldest line in CI. */
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

/** Returns the path of the program, which is downloaded unless it is there already. */
function download(version) {
  const program = join(cache, version, 'package/bin/node');
  if (existsSync(program)) return program;
  const name = `node-${process.platform}-${process.arch}@${version}`;
  const folder = join(cache, `${version}.${process.pid}`);
  mkdirSync(folder, { recursive: true });
  for (let attempt = 1; ; attempt += 1) {
    try {
      // npm checks the archive against the digest of the registry.
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

/** A part of the suites, without the options and hooks of a whole run. */
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

/** The options are those of `.mocharc.cjs`, and nothing may be skipped, as with the `npm test` of `.ci/run`. */
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
    // npm and other programs that tests start run on the same version.
    env: { ...process.env, PATH: `${dirname(program)}${delimiter}${process.env.PATH}` },
  });
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  const suites = isWhole ? 'all suites' : 'a part of the suites';
  console.log(`${status === 0 ? 'passed' : 'FAILED'}: ${suites} on Node ${version} (${seconds} s)`);
  // The closing line of the tests comes last.
  if (status !== 0) process.stdout.write(`${stderr}${stdout}`);
  return status === 0;
}

try {
  if (!versions.every(runTests)) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
