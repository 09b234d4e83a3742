import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { workersVariable } from './support/servers/test-server.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Test files whose tests use their servers almost only over HTTP, so that several workers can serve the requests. */
const suites = [
  'builtin-kinds',
  'error-responses',
  'errors-body',
  'errors-objects',
  'errors-parameters',
  'limits',
  'lists',
  'objects-metadata',
  'objects-writes',
  'option-vectors',
  'preconditions',
  'secrets',
  'spec-metadata',
  'watch',
];

interface Report {
  readonly stats: { readonly passes: number };
  readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message?: string } }[];
}

describe('test files that use a server over HTTP, when two workers of the server get the requests in turn [slow]', function () {
  this.timeout(120_000);

  it('pass', async () => {
    const files = suites.map((name) => `test/dist/${name}.test.js`);
    const hooks = ['./.ci/tiers.js', './.ci/error-causes.js'].flatMap((hook) => ['--require', hook]);
    const mocha = [
      'node_modules/mocha/bin/mocha.js',
      '--no-config',
      '--exit',
      '--reporter',
      'json',
      '--timeout',
      '20000',
    ];
    const env = { ...process.env, [workersVariable]: '2', HOMEOSTAT_TEST_SLOW: 'false', CI: 'false' };
    const options = { cwd: root, env, maxBuffer: 64 * 1024 * 1024 };
    // Mocha's exit code is the number of failures, so `run` rejects after a failed test. The report is then in the
    // error.
    const { stdout } = await run(process.execPath, [...mocha, ...hooks, ...files], options).catch(
      (error: unknown) => error as { readonly stdout: string },
    );
    const { stats, failures } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as Report;
    expect(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message ?? ''}`)).to.deep.equal([]);
    expect(stats.passes).to.be.greaterThan(300);
  });
});
