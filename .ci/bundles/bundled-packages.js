// The bundled packages, by folder. Each has its entries: the keys are names in dist/bundle, and the values are compiled
// modules. The entry of a worker has the name of the worker's file.
export const bundledPackages = {
  'controller-runtime': {
    index: 'index.js',
    api: 'api/index.js',
    telemetry: 'telemetry/index.js',
    testing: 'testing/index.js',
  },
  apiserver: {
    index: 'index.js',
    'command-line': 'command-line/index.js',
    endpoints: 'endpoints/index.js',
    'sqlite-worker': 'store/sqlite/sqlite-worker.js',
    'body-worker': 'decode/body-worker.js',
  },
  'plugins/create-homeostat': { index: 'index.js', cli: 'cli.js' },
  'plugins/host': {
    index: 'index.js',
    testing: 'testing/index.js',
    cli: 'cli.js',
    'plugin-modules-hooks': 'package/plugin-modules-hooks.js',
  },
};
