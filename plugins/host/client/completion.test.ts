import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../commands/run-command.fixture.ts';
import { startTestServer } from '../testing/index.ts';
import type { TestServer } from '../testing/index.ts';
import { widgetModel } from '../widget.fixture.ts';

const Widget = widgetModel();

describe('Completion in a shell [spec experience-completion]', () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer({ models: [Widget] });
    await server.client.create(Widget, { metadata: { name: 'left' }, spec: {} });
  });
  after(async () => server.stop());

  /** Returns the completions that the shell would offer for the last word. */
  async function offered(...words: readonly string[]): Promise<readonly string[]> {
    return offeredWith({}, ...words);
  }

  async function offeredWith(
    environment: Readonly<Record<string, string>>,
    ...words: readonly string[]
  ): Promise<readonly string[]> {
    const { code, stdout, stderr } = await runCommand(['__complete', '--', ...words], environment);
    expect(`${code} ${stderr}`).to.equal('0 ');
    return stdout.split('\n').filter((line) => line !== '');
  }

  it('offers commands, subcommands and options', async () => {
    expect(await offered('ap')).to.deep.equal(['apply', 'api-resources']);
    expect(await offered(''))
      .to.include('serve')
      .and.not.include('__complete');
    expect(await offered('plugin', 'en')).to.deep.equal(['enable']);
    expect(await offered('get', '--sel')).to.deep.equal(['--selector']);
    expect(await offered('plugin', 'enable', '')).to.deep.equal([]);
  });

  it('offers the kinds of the server, and the names of its objects', async () => {
    const at = ['--server', server.url];
    expect(await offered('get', ...at, 'widg')).to.deep.equal(['widgets']);
    expect(await offered('delete', 'widgets', ...at, 'le')).to.deep.equal(['left']);
    expect(await offered('get', ...at, 'widget/l')).to.deep.equal(['widget/left']);
    expect(await offered('get', ...at, 'nothing', '')).to.deep.equal([]);
  });

  it('offers kinds as the first argument, from the server of the kubeconfig', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-completion-'));
    const file = join(folder, 'kubeconfig');
    const entry = { name: 'test', cluster: { server: server.url } };
    const context = { name: 'test', context: { cluster: 'test', user: 'test' } };
    const users = [{ name: 'test', user: {} }];
    const kubeconfig = { clusters: [entry], contexts: [context], users, 'current-context': 'test' };
    await writeFile(file, JSON.stringify(kubeconfig), { mode: 0o600 });
    expect(await offeredWith({ HOMEOSTAT_KUBECONFIG: file }, 'get', 'widg')).to.deep.equal(['widgets']);
    await rm(folder, { recursive: true });
  });

  it('offers the values of an option, and nothing where a file or a selector is expected', async () => {
    const at = ['--server', server.url];
    expect(await offered('get', ...at, '-n', 'def')).to.deep.equal(['default']);
    expect(await offered('get', ...at, 'widgets', '-o', '')).to.deep.equal([
      'table',
      'wide',
      'json',
      'yaml',
      'name',
      'jsonpath=',
      'custom-columns=',
    ]);
    expect(await offered('why', ...at, 'widgets', 'left', '-o', 't')).to.deep.equal(['text']);
    expect(await offered('apply', ...at, '-f', '')).to.deep.equal([]);
    expect(await offered('apply', ...at, '')).to.deep.equal([]);
    expect(await offered('get', ...at, '-l', '')).to.deep.equal([]);
  });

  it('offers nothing when the server does not respond', async () => {
    expect(await offered('get', '--server', 'http://127.0.0.1:1', 'wid')).to.deep.equal([]);
  });

  it('prints scripts for bash, zsh and fish, and refuses other shells', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout } = await runCommand(['completion', shell]);
      expect(code, shell).to.equal(0);
      expect(stdout, shell).to.include('homeostat __complete');
      if (shell === 'bash') expect(spawnSync('bash', ['-n', '-c', stdout]).status).to.equal(0);
    }
    const { code, stderr } = await runCommand(['completion', 'tcsh']);
    expect(code).to.equal(2);
    expect(stderr).to.equal('error: completion: the shell must be bash, zsh or fish, not "tcsh"\n');
  });
});
