// Options of V8 that save CPU time in tests: see CONTRIBUTING.md. From Node 22 on, V8 has no option for when it optimises.
const isNode20 = process.versions.node.startsWith('20.');
const optimisesLater = isNode20 ? ['interrupt-budget=4000000'] : [];

module.exports = {
  spec: [
    'test/dist/**/*.test.js',
    '{plugins,examples}/*/dist/**/*.test.js',
    'apiserver/dist/**/*.test.js',
    'controller-runtime/dist/**/*.test.js',
  ],
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
  jobs: 3,
  timeout: 10000,
  forbidOnly: true,
  failZero: true,
  exit: true,
  reporter: './.ci/reporter.js',
};
