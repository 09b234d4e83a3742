import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../..', import.meta.url));

const suites = `
  describe('a slow suite [slow]', () => {
    before(() => { throw new Error('a hook of what is left out'); });
    it('is left out', () => undefined);
  });
  describe('a suite', () => {
    it('passes', () => undefined);
    it('takes longer than a test may, as a slow one [slow]', () => new Promise((resolve) => setTimeout(resolve, 1_000)));
  });
`;
const patience = `
  it('passes the factor on to waits', () => {
    if (process.env.HOMEOSTAT_TEST_TIME_FACTOR !== '6') throw new Error(process.env.HOMEOSTAT_TEST_TIME_FACTOR);
  });
  it('gives a test that sets its own time six times that time', async function () {
    this.timeout(100);
    await new Promise((resolve) => setTimeout(resolve, 250));
  });
`;
const rejecting = `
  describe('a suite', () => {
    it('drops a promise', async () => {
      const dropped = Promise.reject(new Error('dropped'));
      await new Promise((resolve) => setImmediate(resolve));
      dropped.catch(() => undefined);
    });
  });
`;
const killed = `
  describe('a suite', () => {
    it('ends its process', () => process.kill(process.pid, 'SIGKILL'));
  });
`;

describe('a test run [slow]', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiers-'));
  });

  after(async () => rm(folder, { recursive: true }));

  /** Runs a test file with a time limit of half a second for each test. Returns the exit code and the output. */
  async function run(
    text: string,
    environment: NodeJS.ProcessEnv = {},
    flags: readonly string[] = [],
  ): Promise<{ code: number; output: string }> {
    const file = join(folder, 'some.test.mjs');
    await writeFile(file, text);
    const hooks = ['leak-check', 'tiers', 'error-causes', 'lost-files'];
    const required = hooks.flatMap((name) => ['--require', `./.ci/${name}.js`]);
    const options = [
      '--no-config',
      '--timeout',
      '500',
      '--reporter',
      './.ci/reporter.js',
      '--exit',
      ...flags,
      ...required,
    ];
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        ['node_modules/mocha/bin/mocha.js', ...options, file],
        { cwd: root, env: { PATH: process.env['PATH'], ...environment } },
        (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      );
    });
  }

  it('skips slow tests with their hooks, and reports their number', async () => {
    const { code, output } = await run(suites);
    expect(output).to.include('left out: 2 slow tests (npm run test:all runs all tests)');
    expect(output.trimEnd().split('\n').at(-1)).to.equal('1 passed, 0 failed');
    expect(code).to.equal(0);
  });

  for (const variable of ['CI', 'HOMEOSTAT_TEST_SLOW']) {
    it(`skips nothing with ${variable}=true, and gives slow tests more time`, async () => {
      const { code, output } = await run(suites, { [variable]: 'true' });
      expect(output).to.include('a hook of what is left out').and.not.include('left out:');
      expect(output.trimEnd().split('\n').at(-1)).to.equal('2 passed, 1 failed');
      expect(code).to.equal(1);
    });
  }

  for (const environment of [{ CI: 'true' }, { HOMEOSTAT_TEST_TIME_FACTOR: '6' }]) {
    it(`with ${Object.keys(environment).join()}, multiplies the time limits that tests set, and passes the factor to the waits in tests`, async () => {
      expect(await run(patience, environment)).to.include({ code: 0 });
    });
  }

  it('fails for an unhandled rejection, even if it is handled later', async () => {
    const { code, output } = await run(rejecting);
    expect(output).to.include('a promise was rejected without a handler: Error: dropped');
    expect(code).to.equal(1);
  });

  it('names the test file whose process ended before the tests of the file had ended', async () => {
    const { code, output } = await run(killed, {}, ['--parallel', '--jobs', '2']);
    expect(output).to.match(/process \d+ ended in the middle of the test file .*some\.test\.mjs/);
    expect(output).to.include('SIGKILL');
    expect(code).to.not.equal(0);
  });
});
