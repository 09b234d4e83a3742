import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runsSlowTests } from './.ci/tiers.js';

// An option of V8 that saves CPU time in tests (see CONTRIBUTING.md). V8 has this option only in Node 20.
const isNode20 = process.versions.node.startsWith('20.');
const optimisesLater = isNode20 ? ['interrupt-budget=4000000'] : [];

const namesIn = (folder, options) => readdirSync(join(import.meta.dirname, folder), { encoding: 'utf8', ...options });

/** Returns the test files of a package, in the order of their names. */
function testsOf(folder) {
  const dist = `${folder}/dist`;
  if (!existsSync(join(import.meta.dirname, dist))) return [];
  const names = namesIn(dist, { recursive: true }).filter((name) => name.endsWith('.test.js'));
  return names.sort().map((name) => `${dist}/${name}`);
}

const several = ['plugins', 'examples'].flatMap((folder) => namesIn(folder).map((name) => `${folder}/${name}`));
const files = ['test', ...several, 'apiserver', 'controller-runtime'].flatMap(testsOf);

// The tests of the stores for etcd, MySQL and PostgreSQL mostly wait for their databases. If these tests were together
// in the list, all processes would wait at the same time, and the cores would be idle. So these tests are spread over
// the run.
const isWaiting = (file) => /^apiserver\/dist\/store\/(etcd|mysql|postgres)\//.test(file);
const waiting = files.filter(isWaiting);
const others = files.filter((file) => !isWaiting(file));
const share = (index) => Math.floor((index * waiting.length) / others.length);

export default {
  spec: others.flatMap((file, index) => [file, ...waiting.slice(share(index), share(index + 1))]),
  require: [
    './.ci/memory-folder.js',
    './.ci/leak-check.js',
    './.ci/tiers.js',
    './.ci/error-causes.js',
    './.ci/cpu-times.js',
    './.ci/cheap-passwords.js',
    './.ci/node-program.js',
    './.ci/shared-etcd.js',
    './.ci/lost-files.js',
  ],
  'node-option': ['min-semi-space-size=32', 'max-semi-space-size=64', ...optimisesLater],
  parallel: true,
  // Slow tests mostly wait for other processes, so more of them can run at the same time.
  jobs: runsSlowTests ? 6 : 4,
  timeout: 10000,
  forbidOnly: true,
  failZero: true,
  exit: true,
  reporter: './.ci/reporter.js',
};
