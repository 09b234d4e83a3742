import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { ApiServerOptions, AuditOptions } from '@homeostat/apiserver';
import { person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const token = 'correct-horse-battery-staple';
const authorization = `Bearer ${token}`;

interface Entry {
  readonly stage: string;
  readonly verb: string;
  readonly level: string;
  readonly auditID: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly impersonatedUser?: { readonly username?: string };
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly requestURI: string;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  readonly responseStatus?: { readonly code: number; readonly reason?: string };
  readonly requestObject?: { readonly metadata: object };
  readonly responseObject?: { readonly metadata: object };
  readonly annotations: Readonly<Record<string, string>>;
}

describe('the audit log', () => {
  let folder: string;
  let logFile: string;
  let server: TestServer | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-'));
    logFile = join(folder, 'audit.log');
  });

  afterEach(async () => {
    await server?.stop();
    server = undefined;
    await rm(folder, { recursive: true });
  });

  async function start(options: Partial<AuditOptions> = {}, serverOptions: ApiServerOptions = {}): Promise<TestServer> {
    server = await TestServer.start({ token, audit: { logFile, ...options }, ...serverOptions });
    return server;
  }

  async function policy(lines: string): Promise<string> {
    const path = join(folder, 'policy.yaml');
    await writeFile(path, `apiVersion: audit.k8s.io/v1\nkind: Policy\n${lines}`, { mode: 0o600 });
    return path;
  }

  async function entries(): Promise<readonly Entry[]> {
    const text = await readFile(logFile, 'utf8');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Entry);
  }

  /** Waits until there are `count` entries, and returns them. */
  function logged(count: number): Promise<readonly Entry[]> {
    return eventually(async () => {
      const found = await entries();
      expect(found).to.have.length.at.least(count);
      return found;
    });
  }

  it('has an entry for each request that needs a credential, with user, action, address and result', async () => {
    const { api } = await start();
    expect(api.url).to.include('127.0.0.1');
    const created = await server?.post(persons, person('ann'), { headers: { authorization, 'user-agent': 'me/1' } });
    expect(created?.status).to.equal(201);
    await server?.get(`${persons}/nobody?token=hidden`, { authorization });
    await server?.get('/livez');
    const found = await logged(2);
    expect(found).to.have.length(2);
    const [create, get] = found;
    expect(create).to.deep.include({
      level: 'Metadata',
      stage: 'ResponseComplete',
      auditID: created?.headers['audit-id'],
      verb: 'create',
      requestURI: persons,
      userAgent: 'me/1',
      responseStatus: { metadata: {}, code: 201 },
      objectRef: { resource: 'persons', name: 'ann', apiGroup: 'people.example.com', apiVersion: 'v1alpha1' },
    });
    expect(create?.user).to.deep.equal({ username: 'admin', groups: ['system:masters', 'system:authenticated'] });
    expect(create?.annotations).to.include({ 'authorization.k8s.io/decision': 'allow' });
    expect(create?.annotations['authorization.k8s.io/reason']).to.include('system:masters');
    expect(create?.annotations['apiserver.latency.k8s.io/total']).to.match(/^\d+\.\d+ms$/);
    expect(get?.responseStatus).to.include({ code: 404, reason: 'NotFound' });
    expect(get?.requestURI).to.equal(`${persons}/nobody?token=…`);
    expect((await stat(logFile)).mode & 0o777).to.equal(0o600);
  });

  it('names both the user who sent a request and the user that it impersonated', async () => {
    await start();
    await server?.get(persons, { authorization, 'impersonate-user': 'ann' });
    const [entry] = await logged(1);
    expect(entry?.user.username).to.equal('admin');
    expect(entry?.impersonatedUser?.username).to.equal('ann');
    expect(entry?.responseStatus).to.include({ code: 403 });
    expect(entry?.annotations).to.include({ 'authorization.k8s.io/decision': 'forbid' });
  });

  it('has entries of a user who impersonates another user, even if the policy excludes the other user', async () => {
    await start({ policyFile: await policy('rules: [{level: None, users: [quiet]}, {level: Metadata}]') });
    await server?.get(persons, { authorization, 'impersonate-user': 'quiet' });
    const [entry] = await logged(1);
    expect(entry?.user.username).to.equal('admin');
    expect(entry?.impersonatedUser?.username).to.equal('quiet');
  });

  it('has entries of requests without a valid credential, but neither the credential nor a body', async () => {
    await start();
    await server?.post(persons, person('ann'), { headers: { authorization: 'Bearer wrong-horse-battery-staple' } });
    const [entry] = await logged(1);
    expect(entry?.user).to.deep.equal({});
    expect(entry?.responseStatus).to.include({ code: 401, reason: 'Unauthorized' });
    expect(await readFile(logFile, 'utf8')).to.not.include('wrong-horse');
  });

  it('has bodies when the first matching rule of the policy requests them', async () => {
    const policyFile = await policy(`
omitStages: [RequestReceived]
rules:
  - level: None
    verbs: [get]
    resources: [{ group: people.example.com, resources: [persons], resourceNames: [ann] }]
  - level: RequestResponse
    omitManagedFields: true
    resources: [{ group: people.example.com, resources: ['*'] }]
  - { level: None, nonResourceURLs: ['/api*'] }
  - { level: Metadata, omitStages: [] }
`);
    await start({ policyFile });
    await server?.post(persons, person('ann'), { headers: { authorization } });
    await server?.get(`${persons}/ann`, { authorization });
    await server?.get('/apis', { authorization });
    await server?.get('/metrics', { authorization });
    const found = await logged(2);
    expect(found.map(({ requestURI }) => requestURI)).to.deep.equal([persons, '/metrics']);
    expect(found[0]?.requestObject?.metadata).to.deep.equal({ name: 'ann' });
    expect(found[0]?.responseObject?.metadata).to.include({ name: 'ann' }).and.not.have.property('managedFields');
  });

  it('never has the bodies of requests for token reviews and Secrets, even if the policy requests bodies', async () => {
    const policyFile = await policy('rules: [{ level: RequestResponse }]\n');
    await start({ policyFile });
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const headers = { authorization };
    expect((await server?.post('/apis/authentication.k8s.io/v1/tokenreviews', review, { headers }))?.status).to.equal(
      201,
    );
    await server?.post('/api/v1/namespaces/default/secrets', { data: { key: 'c2VjcmV0' } }, { headers });
    await logged(4);
    const text = await readFile(logFile, 'utf8');
    expect(text).to.include('"resource":"tokenreviews"').and.to.include('"resource":"secrets"');
    expect(text).to.not.include(token).and.not.include('c2VjcmV0');
  });

  it('has entries of the start and the end of a watch', async () => {
    await start();
    const watch = await server?.watch(`${persons}?watch=true`, { authorization });
    await logged(1);
    watch?.close();
    const found = await logged(2);
    expect(found.map(({ verb, stage }) => `${verb} ${stage}`)).to.deep.equal([
      'watch ResponseStarted',
      'watch ResponseComplete',
    ]);
  });

  it('refuses to start with an invalid policy, and names the line of the mistake', async () => {
    const policyFile = await policy('rules:\n  - level: Metadata\n    user: [ann]\n');
    const problem = await start({ policyFile }).then(
      () => '',
      (error: unknown) => String(error),
    );
    expect(problem).to.include(`${policyFile}:5: rules[0].user: is not known here`);
  });

  it('with `required: true`, refuses a write whose entry cannot be written', async () => {
    // Writes to this device fail, because it is always full.
    logFile = '/dev/full';
    await start({ required: true });
    const headers = { authorization };
    expectRefusal((await server?.post(persons, person('ann'), { headers })) ?? expect.fail(), {
      reason: 'ServiceUnavailable',
      message: /audit entry of this write could not be written/,
    });
    expect((await server?.get(`${persons}/ann`, headers))?.status).to.equal(404);
    expect((await server?.get('/metrics', headers))?.text).to.match(/apiserver_audit_requests_rejected_total 1\n/);
  });

  it('without `required: true`, allows a write whose entry cannot be written, and counts the lost entry', async () => {
    logFile = '/dev/full';
    await start();
    const headers = { authorization };
    expect((await server?.post(persons, person('ann'), { headers }))?.status).to.equal(201);
    await eventually(async () => {
      expect((await server?.get('/metrics', headers))?.text).to.match(/apiserver_audit_error_total [1-9]/);
      return true;
    });
  });

  it('with `required: true`, has one entry from before a write and one from after it', async () => {
    await start({ required: true });
    await server?.post(persons, person('ann'), { headers: { authorization } });
    const found = await logged(2);
    expect(found.map(({ stage }) => stage)).to.deep.equal(['RequestReceived', 'ResponseComplete']);
    expect(found[0]?.auditID).to.equal(found[1]?.auditID);
  });

  it('is rotated by size, and keeps the configured number of rotated files', async () => {
    const { rotatedFiles } = await import('@homeostat/apiserver');
    await start({ maxBytes: 1500, maxBackups: 2, required: true });
    for (let index = 0; index < 12; index += 1) {
      await server?.post(persons, person(`p${index}`), { headers: { authorization } });
    }
    await eventually(async () => expect(await rotatedFiles(logFile)).to.have.length(2));
    for (const { path } of await rotatedFiles(logFile)) {
      expect((await stat(path)).size).to.be.at.most(1500);
      expect((await stat(path)).mode & 0o777).to.equal(0o600);
    }
  });

  it('has logins and logouts with user, address and status code, but never a password [slow]', async () => {
    // The clock does not advance: with a real clock, checking five passwords may take longer than the delay of the
    // sixth login.
    const clock = new FakeClock();
    await start({}, { clock });
    const headers = { authorization };
    const users = '/apis/iam.homeostat.internal/v1alpha1/users';
    const password = 'the right long password';
    const kind = { apiVersion: 'iam.homeostat.internal/v1alpha1', kind: 'User' };
    const created = await server?.post(users, { ...kind, metadata: { name: 'ada' }, spec: {} }, { headers });
    expect(created?.status).to.equal(201);
    expect((await server?.put(`${users}/ada/password`, { password }, { headers }))?.status).to.equal(204);
    const url = server?.api.url ?? '';
    const logIn = async (body: Record<string, string>, isForm = false): Promise<Response> =>
      fetch(`${url}/login`, {
        method: 'POST',
        headers: { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' },
        body: isForm ? new URLSearchParams(body) : JSON.stringify(body),
      });
    await fetch(`${url}/login`);
    for (let index = 0; index < 5; index += 1) await logIn({ user: 'eve', password: 'guessed' }, index > 0);
    await logIn({ user: 'eve', password: 'guessed' });
    await logIn({ user: 'ada', password, extra: 'field' });
    const cookie = (await logIn({ user: 'ada', password })).headers.get('set-cookie')?.split(';')[0] ?? '';
    await fetch(`${url}/logout`, { method: 'POST', headers: { cookie } });
    await clock.advance(1000);
    const found = (await logged(11)).slice(2);
    expect(
      found.map((entry) => [entry.requestURI, entry.verb, entry.user.username, entry.responseStatus?.code]),
    ).to.deep.equal([
      ...Array.from({ length: 5 }, () => ['/login', 'post', 'eve', 401]),
      ['/login', 'post', 'eve', 429],
      ['/login', 'post', undefined, 400],
      ['/login', 'post', 'ada', 204],
      ['/logout', 'post', 'ada', 204],
    ]);
    expect(found.map(({ sourceIPs }) => sourceIPs)).to.deep.equal(found.map(() => ['127.0.0.1']));
    const text = await readFile(logFile, 'utf8');
    for (const secret of [password, 'guessed', cookie.split('=')[1] ?? '']) expect(text).not.to.include(secret);
  });

  it('has failed logins, even with the name of a user whom the policy excludes', async () => {
    const policyFile = await policy('rules:\n- level: None\n  users: [ada]\n- level: RequestResponse\n');
    await start({ policyFile });
    const body = JSON.stringify({ user: 'ada', password: 'guessed' });
    const headers = { 'content-type': 'application/json' };
    await fetch(`${server?.api.url}/login`, { method: 'POST', headers, body });
    const [entry] = (await logged(2)).filter(({ stage }) => stage === 'ResponseComplete');
    expect(entry).to.nested.include({ 'user.username': 'ada', 'responseStatus.code': 401 });
    expect(await readFile(logFile, 'utf8')).not.to.include('guessed');
  });
});
