import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { startApiServer } from '@homeostat/apiserver';
import { issueClientCertificate } from '@homeostat/apiserver/command-line';
import { createClient, readKubeconfig, systemClock } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { command } from './support/commands/command.ts';
import { answerOf, TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const admin = 'correct-horse-battery-staple';
const dayMs = 86_400_000;

interface Pair {
  readonly key: string;
  readonly cert: string;
}

describe('client certificates', () => {
  let folder: string;
  let directory: string;
  let server: TestServer;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-certificates-'));
    directory = join(folder, 'tls');
    server = await TestServer.start({ token: admin, tls: { directory } });
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const issue = (user: string, groups: readonly string[] = [], days = 1, from = directory): Promise<Pair> => {
    const nowMs = systemClock.now();
    return issueClientCertificate({ directory: from, user, groups, nowMs, untilMs: nowMs + days * dayMs });
  };

  async function ask(
    pair: Partial<Pair>,
    headers: Record<string, string> = {},
    to: TestServer = server,
  ): Promise<Answer> {
    const { port, api } = to;
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const call = request({ host: '127.0.0.1', port, path, method: 'POST', ca: api.ca, agent: false, ...pair });
    for (const [name, value] of Object.entries({ 'content-type': 'application/json', ...headers }))
      call.setHeader(name, value);
    call.end(body);
    const [response] = (await once(call, 'response')) as Parameters<typeof answerOf>;
    return answerOf(response);
  }

  it("name a user and groups, if the server's own authority has issued them", async () => {
    const answer = await ask(await issue('ann', ['system:masters', 'staff']));
    expect(answer.status, answer.text).to.equal(201);
    expect(answer.body.status.userInfo).to.deep.equal({
      username: 'ann',
      groups: ['system:masters', 'staff', 'system:authenticated'],
    });
  });

  it('may name users and groups with characters that are special in certificates', async () => {
    for (const name of [
      'a,O=system:masters',
      '#0c0161',
      '"q"',
      'a\\,b',
      'CN=x+O=y',
      'system:node:n1',
      'ü',
      'x'.repeat(200),
    ]) {
      const { body } = await ask(await issue(name, ['system:masters', `g ${name}`]));
      expect(body.status?.userInfo?.username, JSON.stringify(body)).to.equal(name);
      expect(body.status.userInfo.groups).to.deep.equal(['system:masters', `g ${name}`, 'system:authenticated']);
    }
  });

  it('take precedence over a token; without a certificate, the token is used', async () => {
    const bearer = { authorization: `Bearer ${admin}` };
    const { body } = await ask(await issue('ann', ['system:masters']), bearer);
    expect(body.status.userInfo.username).to.equal('ann');
    expect((await ask({}, bearer)).body.status.userInfo.username).to.equal('admin');
    expect((await ask({})).status).to.equal(401);
  });

  it('are ignored when they cannot be verified or name no valid user: the request gets 401, unless it has a valid token', async () => {
    const other = join(folder, 'other');
    await (await startApiServer({ database: 'memory:', port: 0, tls: { directory: other } })).stop();
    const expired = (): Promise<Pair> => {
      const nowMs = systemClock.now() - 3 * dayMs;
      return issueClientCertificate({
        directory,
        user: 'ann',
        groups: ['system:masters'],
        nowMs,
        untilMs: nowMs + dayMs,
      });
    };
    const ofOther = readFileSync(join(other, 'authority.pem'), 'utf8');
    const ofServer = readFileSync(join(directory, 'server.pem'), 'utf8');
    const bad: Readonly<Record<string, Pair>> = {
      'of another authority': await issue('ann', ['system:masters'], 1, other),
      expired: await expired(),
      'for servers': { key: ofServer, cert: ofServer },
      'signed by itself': { key: ofOther, cert: ofOther },
      'without a name': await issue('', ['system:masters']),
      'with a control character': await issue('a\u0000b', ['system:masters']),
    };
    for (const [what, pair] of Object.entries(bad)) {
      const answer = await ask(pair);
      expect(answer.status, what).to.equal(401);
      expect(answer.body.reason).to.equal('Unauthorized');
      expect((await ask(pair, { authorization: `Bearer ${admin}` })).status, what).to.equal(201);
    }
  });

  it('identify the user again when a client resumes its TLS session', async () => {
    const pair = await issue('ann', ['system:masters']);
    let session: Buffer | undefined;
    const visit = async (): Promise<{ readonly reused: boolean; readonly text: string }> => {
      const options = {
        host: '127.0.0.1',
        port: server.port,
        ca: server.api.ca,
        maxVersion: 'TLSv1.2' as const,
        ...pair,
      };
      const socket: TLSSocket = connect({ ...options, ...(session === undefined ? {} : { session }) });
      socket.on('session', (next: Buffer) => (session = next));
      await once(socket, 'secureConnect');
      const reused = socket.isSessionReused();
      socket.write('GET /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      let text = '';
      for await (const chunk of socket) text += String(chunk);
      return { reused, text };
    };
    const [first, second] = [await visit(), await visit()];
    expect([first.reused, second.reused]).to.deep.equal([false, true]);
    for (const { text } of [first, second]) expect(text).to.match(/^HTTP\/1\.1 200 /);
  });

  it('are accepted only from the authority that --client-ca names', async () => {
    const other = join(folder, 'clients');
    await (await startApiServer({ database: 'memory:', port: 0, tls: { directory: other } })).stop();
    const options = { token: admin, tls: { directory }, clientCa: join(other, 'ca.crt') };
    const second = await TestServer.start(options);
    const statusOf = async (pair: Pair): Promise<number> => (await ask(pair, {}, second)).status;
    expect(await statusOf(await issue('ann', ['system:masters'], 1, other))).to.equal(201);
    expect(await statusOf(await issue('ann', ['system:masters']))).to.equal(401);
    await second.stop();
  });

  it('need TLS, and the file of clientCa must have a CA certificate', async () => {
    const failure = (options: object): Promise<string> =>
      startApiServer({ database: 'memory:', port: 0, ...options }).then(
        async (started) => started.stop().then(() => 'none'),
        (error: unknown) => String(error),
      );
    expect(await failure({ clientCa: join(directory, 'ca.crt') })).to.include('clientCa: needs tls');
    const file = join(folder, 'no-authority.pem');
    await writeFile(file, (await issue('ann')).cert);
    const notCa = `${file}: certificate 1 is not a CA certificate`;
    expect(await failure({ tls: { directory }, clientCa: file })).to.include(notCa);
    await writeFile(file, 'nothing');
    expect(await failure({ tls: { directory }, clientCa: file })).to.include(`${file}: holds no certificate in PEM`);
  });

  it('are issued by a command, which writes certificate and key into files that only their owner can read', async () => {
    const [cert, key] = [join(folder, 'ada.crt'), join(folder, 'ada.key')];
    const args = ['certificate', '--user', 'ada', '--group', 'a', '--group', 'b', '--tls-dir', directory];
    const files = ['--cert-output', cert, '--key-output', key];
    expect((await command([...args, ...files])).code).to.equal(0);
    for (const path of [cert, key]) expect((await stat(path)).mode & 0o777).to.equal(0o600);
    const parsed = new X509Certificate(readFileSync(cert));
    expect(parsed.subject).to.equal('CN=ada\nO=a\nO=b');
    const days = (Date.parse(parsed.validTo) - systemClock.now()) / dayMs;
    expect(days).to.be.within(6.99, 7);
    const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
    expect((await ask(pair)).body.message ?? '').to.not.include('Unauthorized');
    const again = await command([...args, ...files]);
    expect([again.code, again.stderr]).to.deep.equal([1, `${cert} exists already; --force overwrites it\n`]);
    expect((await command([...args, ...files, '--force', '--days', '365'])).code).to.equal(0);
    const invisible = 'control characters and other invisible characters';
    for (const [more, text] of [
      [['--days', '366'], '--days: must be a whole number from 1 to 365'],
      [['--days', 'x'], '--days: must be a whole number'],
      [['--user', ''], '--user: must have 1 to 256 characters'],
      [['--group', 'a\nb'], '--group: must have 1 to 256 characters'],
      [['--group', 'a\u200bb'], `--group: must have 1 to 256 characters, without ${invisible}`],
    ] as const) {
      const { code, stderr } = await command([...args, ...files, '--force', ...more]);
      expect([code, stderr.startsWith(text)], stderr).to.deep.equal([2, true]);
    }
    const none = await command(['certificate', '--user', 'ada', '--tls-dir', join(folder, 'none')]);
    expect(none.code).to.equal(1);
    expect(none.stderr).to.include(`${join(folder, 'none')}: has no certificate authority; the server creates one`);
    await chmod(join(directory, 'authority.pem'), 0o644);
    expect((await command([...args, ...files, '--force'])).stderr).to.include('chmod 600');
    await chmod(join(directory, 'authority.pem'), 0o600);
  });

  it('are used by clients and commands that find them in a kubeconfig', async () => {
    const output = join(folder, 'ada.kubeconfig');
    const args = [
      'kubeconfig',
      '--tls-dir',
      directory,
      '--server',
      server.api.url,
      '--user',
      'ada',
      '--output',
      output,
    ];
    expect(await command(args)).to.include({ code: 0 });
    const { url, ...access } = readKubeconfig(output);
    expect(access).to.have.all.keys('ca', 'cert', 'key');
    const namespaces = defineModel({
      gvk: 'v1/Namespace',
      plural: 'namespaces',
      schema: { type: 'object', properties: {} },
    });
    const refused: unknown = await createClient(url, access)
      .list(namespaces)
      .catch((error: unknown) => error);
    expect((refused as Error).message).to.include('User "ada" cannot list resource "namespaces"');
    const master = { ...(await issue('root', ['system:masters'])), ca: access.ca ?? '' };
    expect((await createClient(url, master).list(namespaces)).items).to.have.length.above(0);
    const exported = await command(['export', '--server', url], { HOMEOSTAT_KUBECONFIG: output });
    expect(exported.code).to.equal(1);
    expect(exported.stderr).to.include('User "ada" cannot get path "/export"');
    const other = await issue('eve');
    expect(() => createClient(url, { ...access, key: other.key })).to.throw('key: is not the key of the certificate');
    expect(() => createClient(url, { ...access, key: 'none' })).to.throw('key: holds no private key in PEM');
  });

  it('are written into kubeconfigs by homeostat kubeconfig, which also writes tokens of service accounts [slow]', async () => {
    const environment = { HOMEOSTAT_TOKEN: admin };
    const access = ['kubeconfig', '--tls-dir', directory, '--server', server.api.url];
    const userOf = (text: string): Record<string, string> =>
      (load(text) as { users: readonly [{ user: Record<string, string> }] }).users[0].user;
    const ada = await command([...access, '--user', 'ada', '--group', 'system:masters'], environment);
    expect([ada.code, ada.stderr]).to.deep.equal([0, '']);
    const data = userOf(ada.stdout);
    expect(Object.keys(data)).to.deep.equal(['client-certificate-data', 'client-key-data']);
    const decode = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString();
    const pair = { cert: decode('client-certificate-data'), key: decode('client-key-data') };
    expect((await ask(pair)).body.status.userInfo.username).to.equal('ada');

    const headers = { authorization: `Bearer ${admin}` };
    await server.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } }, { headers });
    const robot = await command([...access, '--service-account', 'default/robot', '--hours', '2'], environment);
    expect([robot.code, robot.stderr]).to.deep.equal([0, '']);
    const { token = '' } = userOf(robot.stdout);
    expect(token).to.match(/^eyJ/);
    expect((await server.get('/api', { authorization: `Bearer ${token}` })).status).not.to.equal(401);
    for (const [more, code, text] of [
      [['--service-account', 'default/none'], 1, 'serviceaccounts "none" not found'],
      [['--service-account', 'robot'], 2, '--service-account: must be <namespace>/<name>'],
      [['--service-account', 'default/robot', '--hours', '25'], 2, '--hours: must be a whole number from 1 to 24'],
      [['--service-account', 'default/robot', '--user', 'ada'], 2, '--user, --service-account: give only one'],
      [['--group', 'a'], 2, '--group, --days: apply only to a certificate'],
      [['--hours', '2'], 2, '--hours: applies only to a token'],
    ] as const) {
      const refused = await command([...access, ...more], environment);
      expect(refused.code, refused.stderr).to.equal(code);
      expect(refused.stderr).to.include(text);
    }
  });
});
