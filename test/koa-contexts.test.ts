import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Test files about HTTP: bodies, headers, errors, connections, limits and the records of requests. */
const suites = [
  'audit',
  'body-memory',
  'compression',
  'errors-body',
  'errors-objects',
  'errors-parameters',
  'fairness',
  'impersonation',
  'metrics',
  'objects-metadata',
  'objects-writes',
  'pipelining',
  'protobuf',
  'refused-requests',
  'stopping',
  'tables',
  'tracing',
  'unread-answers',
];

describe('a server that uses koa’s own context for all requests', function () {
  this.timeout(300_000);

  it('passes the tests about HTTP that a server with lean contexts passes [slow]', async () => {
    const files = suites.map((suite) => `test/dist/${suite}.test.js`);
    const preload = ['koa-contexts', 'tiers', 'cheap-passwords'].flatMap((name) => ['--require', `./.ci/${name}.js`]);
    const options = ['--no-config', ...preload, '--timeout', '10000', '--exit', '--reporter', 'dot'];
    // The child process gets the same V8 options as this process.
    const mocha = [...process.execArgv, 'node_modules/mocha/bin/mocha.js', ...options, ...files];
    // The slow tests in these files are about times and memory. They are skipped here. They run only in the normal test
    // run, in which the server uses the lighter contexts of lean-koa.ts instead of those of koa.
    const env = { ...process.env, CI: '', HOMEOSTAT_TEST_SLOW: '' };
    const { stdout } = await run(process.execPath, mocha, { cwd: root, maxBuffer: 1e8, env });
    expect(stdout).to.match(/\b\d{3} passing/);
  });
});
