import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { hash } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SettingsFileError, startApiServer } from '@homeostat/apiserver';
import type { Logger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

const admin = 'correct-horse-battery-staple';
const bearing = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe('a server with a file of tokens', () => {
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = (_fields: object, message: string): void => void logged.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  let folder: string;
  let tokenFile: string;
  let server: TestServer;

  const write = (...users: readonly (readonly [user: string, token: string])[]): Promise<void> =>
    writeFile(
      tokenFile,
      `tokens:\n${users.map(([user, token]) => `- user: ${user}\n  groups: [staff]\n  sha256: ${hash('sha256', token)}\n`).join('')}`,
      { mode: 0o600 },
    );

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-tokens-'));
    tokenFile = join(folder, 'tokens.yaml');
    await write(['ci', 'token-of-ci-000000']);
    server = await TestServer.start({ token: admin, tokenFile, clock, logger });
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const statusOf = async (token: string): Promise<number> =>
    (await server.get('/api/v1/namespaces', bearing(token))).status;
  const userOf = async (token: string): Promise<object> => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const headers = bearing(admin);
    return (await server.post('/apis/authentication.k8s.io/v1/tokenreviews', review, { headers })).body.status;
  };

  it('identifies the users in the file by their tokens, in addition to the administrator', async () => {
    expect(await userOf('token-of-ci-000000')).to.deep.equal({
      authenticated: true,
      user: { username: 'ci', groups: ['staff', 'system:authenticated'] },
    });
    expect(await userOf('token-of-di-000000')).to.deep.equal({ authenticated: false, user: {} });
    expect(await statusOf(admin)).to.equal(200);
    expect(await statusOf('token-of-di-000000')).to.equal(401);
  });

  it('reads the file again every minute, and keeps its users while the file is invalid', async () => {
    await write(['di', 'token-of-di-000000']);
    await clock.advance(60_000);
    await eventually(async () => (await statusOf('token-of-ci-000000')) === 401);
    expect(await statusOf('token-of-di-000000')).not.to.equal(401);
    await writeFile(tokenFile, 'tokens: 7\n');
    await clock.advance(60_000);
    await eventually(() => logged.some((line) => line.startsWith('a file, or its new content, cannot be used')));
    expect(await statusOf('token-of-di-000000')).not.to.equal(401);
    await write(['ci', 'token-of-ci-000000']);
    await clock.advance(60_000);
    await eventually(async () => (await statusOf('token-of-di-000000')) === 401);
  });

  it('decides about each request on a connection by the token of the request and the current file', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    const answerTo = async (token: string): Promise<number | undefined> => {
      const sent = request(`${server.api.url}/api/v1/namespaces`, { agent, headers: bearing(token) }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      ports.add(response.socket.localPort);
      response.resume();
      await once(response, 'end');
      return response.statusCode;
    };
    await write(['ci', 'token-of-ci-000000']);
    await clock.advance(60_000);
    await eventually(async () => (await answerTo('token-of-ci-000000')) === 403);
    for (const other of ['token-of-ci-000001', 'Token-of-ci-000000', 'token-of-ci-00000', 'token-of-ci-0000000']) {
      expect(await answerTo(other), other).to.equal(401);
      expect(await answerTo('token-of-ci-000000')).to.equal(403);
    }
    expect(await answerTo(admin)).to.equal(200);
    expect(await answerTo('token-of-ci-000000')).to.equal(403);
    await write(['di', 'token-of-di-000000']);
    await clock.advance(60_000);
    await eventually(async () => (await answerTo('token-of-ci-000000')) === 401);
    expect(await answerTo('token-of-di-000000')).to.equal(403);
    expect(ports.size).to.equal(1);
    agent.destroy();
  });

  it('does not start with a file that other users can read, that is absent, or that is invalid', async () => {
    const path = join(folder, 'bad.yaml');
    const failure = async (): Promise<unknown> =>
      startApiServer({ database: 'memory:', port: 0, tokenFile: path }).then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await failure())
      .to.be.instanceOf(SettingsFileError)
      .with.property('message')
      .that.includes(path);
    await writeFile(path, 'tokens:\n- user: ci\n  sha256: abc\n', { mode: 0o600 });
    expect(await failure())
      .to.have.property('message')
      .that.includes(`${path}:3: tokens[0].sha256`);
    await chmod(path, 0o644);
    expect(await failure())
      .to.have.property('message')
      .that.includes('(mode 0644): chmod 600 it');
  });

  it('does not start when the file has a mistake: the command exits with code 2 and reports the line [slow]', async () => {
    const path = join(folder, 'worse.yaml');
    await writeFile(path, 'tokens:\n- usr: ci\n', { mode: 0o600 });
    const bin = fileURLToPath(new URL('../../plugins/host/bin/homeostat.js', import.meta.url));
    const args = [bin, 'serve', '--database', 'memory:', '--port', '0', '--token-file', path];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(status).to.equal(2);
    expect(stderr).to.include(`${path}:2: tokens[0].usr: is not known here`);
  });
});
