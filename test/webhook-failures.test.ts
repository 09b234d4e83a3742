import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { freePort } from './support/network/free-port.ts';
import { issuerCertificate } from './support/logins/issuer-certificate.ts';
import { person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import { patched, webhookConfiguration, WebhookServer } from './support/network/webhook-server.ts';
import type { Webhook } from './support/network/webhook-server.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const kinds = {
  mutating: ['MutatingWebhookConfiguration', `${group}/mutatingwebhookconfigurations`],
  validating: ['ValidatingWebhookConfiguration', `${group}/validatingwebhookconfigurations`],
} as const;

/** Invalid responses of webhooks, and the reason in the error for clients. */
const useless: readonly (readonly [what: string, webhook: Webhook, message: RegExp])[] = [
  ['an absent path', undefined as unknown as Webhook, /the server could not find the requested resource/],
  ['an empty body', (_request, response) => void response.end(), /received invalid webhook response|cannot be read/],
  ['a response that is not JSON', (_request, response) => void response.end('<html>'), /the response cannot be read/],
  ['a review without a response', (_request, response) => void response.end('{}'), /webhook response was absent/],
  ['a wrong uid', () => ({ allowed: true, uid: 'mine' }), /expected response\.uid="[-0-9a-f]{36}", got "mine"/],
  ['a review without a decision', () => ({}), /response\.allowed is no boolean/],
  [
    'a response of another kind',
    ({ uid }, response) =>
      void response.end(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', response: { uid, allowed: true } })),
    /expected webhook response of admission\.k8s\.io\/v1, Kind=AdmissionReview, got v1, Kind=Pod/,
  ],
  [
    'a server error',
    (_request, response) => void response.writeHead(500).end('boom'),
    /an error on the server \("boom"\) has prevented the request from succeeding/,
  ],
  [
    'a redirect',
    (_request, response) => void response.writeHead(307, { location: 'https://example.com/' }).end(),
    /redirects to "https:\/\/example\.com\/", and redirects are not followed/,
  ],
  [
    'a response of 5 MB',
    (_request, response) => void response.end(Buffer.alloc(5_000_000, 'x')),
    /the response is larger than 4194304 bytes/,
  ],
  ['a connection that ends without a response', (_request, response) => void response.destroy(), /: EOF$/],
  ['a patch in a validation', () => patched({ op: 'remove', path: '/spec' }), /may not return response\.patch/],
];

describe('failing webhooks: [compat webhooks]', () => {
  let folder: string;
  let ca: string;
  let hooks: WebhookServer;
  let server: TestServer;
  let clock: FakeClock;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-webhooks-'));
    const certificate = await issuerCertificate(folder);
    ca = Buffer.from(certificate.ca).toString('base64');
    hooks = await WebhookServer.start(certificate.pem);
    clock = new FakeClock(Date.now());
    server = await TestServer.start({ clock });
  });

  after(async () => {
    await server.stop();
    await hooks.stop();
    await rm(folder, { recursive: true });
  });

  afterEach(async () => {
    for (const [, path] of Object.values(kinds)) await server.delete(path);
    hooks.reset();
    await server.delete(persons);
  });

  async function configure(of: keyof typeof kinds, fields: object = {}): Promise<void> {
    const [kind, path] = kinds[of];
    const clientConfig = { url: `${hooks.origin}/bad`, caBundle: ca };
    const webhooks = [{ name: 'bad.example.com', clientConfig, ...fields }];
    await server.create(path, webhookConfiguration(kind, 'bad', webhooks));
  }

  for (const [what, webhook, message] of useless) {
    const tier = what === 'a response of 5 MB' ? ' [slow]' : '';
    it(`a webhook with ${what} makes the write fail, unless its failurePolicy is Ignore [spec operators-review]${tier}`, async () => {
      if (webhook !== undefined) hooks.on('/bad', webhook);
      await configure('validating');
      const answer = await server.post(persons, person('ann'));
      expectRefusal(answer, { reason: 'InternalError', message });
      expect(answer.body.message).to.match(/^Internal error occurred: failed calling webhook "bad\.example\.com": /);
      await server.patch(
        `${kinds.validating[1]}/bad`,
        [{ op: 'add', path: '/webhooks/0/failurePolicy', value: 'Ignore' }],
        {
          type: 'application/json-patch+json',
        },
      );
      await server.create(persons, person('ann'));
    });
  }

  it('a call ends after timeoutSeconds when no response has come [spec operators-webhook-time]', async () => {
    hooks.on('/bad', () => new Promise(() => undefined));
    await configure('validating', { timeoutSeconds: 3 });
    const asked = server.post(persons, person('ann'));
    await eventually(() => hooks.asked.length === 1);
    await clock.advance(3000);
    expectRefusal(await asked, {
      reason: 'InternalError',
      message: `failed calling webhook "bad.example.com": failed to call webhook: Post "${hooks.origin}/bad?timeout=3s": context deadline exceeded`,
    });
  });

  it('a call ends after timeoutSeconds when its response has started but does not end [spec operators-webhook-time]', async () => {
    let ended = false;
    hooks.on('/bad', (_request, response) => {
      response.on('close', () => (ended = true));
      response.writeHead(200).write(' ');
      return undefined;
    });
    await configure('validating', { timeoutSeconds: 3 });
    const asked = server.post(persons, person('ann'));
    await eventually(() => hooks.asked.length === 1);
    await clock.advance(3000);
    expectRefusal(await asked, { reason: 'InternalError', message: /: context deadline exceeded$/ });
    await eventually(() => ended);
  });

  it('calls that wait for a connection to a webhook also end at their time limit [slow]', async () => {
    // A server that accepts connections, and never responds.
    const mute = createTcpServer().listen(0, '127.0.0.1');
    const sockets = new Set<Socket>();
    mute.on('connection', (socket: Socket) => void sockets.add(socket));
    await once(mute, 'listening');
    const address = mute.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await configure('validating', {
      timeoutSeconds: 3,
      clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: ca },
    });
    const ended: string[] = [];
    const asked = Array.from({ length: 120 }, async (_, number) => {
      ended.push((await server.post(persons, person(`ann-${number}`))).body.reason);
    });
    // The other twenty calls wait for a connection until their time limit.
    await eventually(() => sockets.size === 100);
    await eventually(async () => {
      await clock.advance(3000);
      return ended.length === 120;
    });
    await Promise.all(asked);
    expect(new Set(ended)).to.deep.equal(new Set(['InternalError']));
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  it('a webhook that does not run, has no TLS, or has a certificate of another authority makes writes fail [spec operators-webhook-certificates]', async () => {
    const dead = await freePort();
    await configure('validating', { clientConfig: { url: `https://127.0.0.1:${dead}/x`, caBundle: ca } });
    expectRefusal(await server.post(persons, person('ann')), {
      reason: 'InternalError',
      message: `dial tcp 127.0.0.1:${dead}: connect: connection refused`,
    });
    await server.delete(kinds.validating[1]);
    const plain = createHttpServer().listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const address = plain.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await configure('validating', { clientConfig: { url: `https://127.0.0.1:${port}/x`, caBundle: ca } });
    expectRefusal(await server.post(persons, person('ann')), {
      reason: 'InternalError',
      message: /does not speak TLS/,
    });
    plain.close();
    await server.delete(kinds.validating[1]);
    await configure('validating', { clientConfig: { url: `${hooks.origin}/bad` } });
    expectRefusal(await server.post(persons, person('ann')), {
      reason: 'InternalError',
      message: /tls: failed to verify certificate: x509: certificate signed by unknown authority/,
    });
    await server.delete(kinds.validating[1]);
    await configure('validating', { clientConfig: { url: `${hooks.origin}/bad`, caBundle: 'bm8gUEVN' } });
    expectRefusal(await server.post(persons, person('ann')), {
      reason: 'InternalError',
      message: /unable to load root certificates: unable to parse bytes as PEM block/,
    });
  });

  it('link-local and metadata addresses are never called, whatever their spelling [spec operators-webhook-hosts]', async () => {
    const urls = [
      'https://169.254.169.254/x',
      'https://[::ffff:169.254.169.254]/x',
      'https://0xa9fea9fe/x',
      'https://[fe80::1]/x',
      'https://[fd00:ec2::254]/x',
    ];
    for (const url of urls) {
      await configure('validating', { clientConfig: { url } });
      const answer = await server.post(persons, person('ann'));
      expectRefusal(answer, {
        reason: 'InternalError',
        message: /is a reserved, link-local or metadata address, which is never called/,
      });
      await server.delete(kinds.validating[1]);
    }
  });

  it('a patch that cannot be applied, or changes the name, makes the write fail with the name of the webhook [spec operators-webhook-patches]', async () => {
    await configure('mutating');
    for (const patch of [
      [{ op: 'remove', path: '/nothing/here' }],
      [{ op: 'replace', path: '/metadata/name', value: 'bob' }],
      [{ op: 'replace', path: '', value: 7 }],
      [{ op: 'remove', path: '/metadata' }],
    ]) {
      hooks.on('/bad', () => patched(...patch));
      expectRefusal(await server.post(persons, person('ann')), {
        reason: 'InternalError',
        message: /admission webhook "bad\.example\.com": the patch cannot be applied: /,
      });
    }
    hooks.on('/bad', () => patched({ op: 'add', path: '/metadata/labels', value: 'x' }));
    expectRefusal(await server.post(persons, person('ann')), {
      reason: 'InternalError',
      message:
        /the patch cannot be applied: the result is no object: metadata\.labels: Invalid value: string: expected an object/,
    });
    hooks.on('/bad', () => ({ allowed: true, patchType: 'JSONPatch', patch: '!!' }));
    expectRefusal(await server.post(persons, person('ann')), { reason: 'InternalError', message: /undecodable patch/ });
    hooks.on('/bad', () => ({ allowed: true, patch: 'W10=' }));
    expectRefusal(await server.post(persons, person('ann')), {
      reason: 'InternalError',
      message: /webhook returned response\.patch but not response\.patchType/,
    });
  });

  it('of two webhooks with reinvocationPolicy IfNeeded that change the same field, only the first is called a second time', async () => {
    for (const name of ['a', 'b']) hooks.on(`/${name}`, () => patched({ op: 'add', path: '/spec/nick', value: name }));
    const webhooks = ['a', 'b'].map((name) => ({
      name: `${name}.example.com`,
      clientConfig: { url: `${hooks.origin}/${name}`, caBundle: ca },
      reinvocationPolicy: 'IfNeeded',
    }));
    await server.create(kinds.mutating[1], webhookConfiguration('MutatingWebhookConfiguration', 'circle', webhooks));
    expect((await server.create(persons, person('ann'))).spec.nick).to.equal('a');
    expect(hooks.asked.map(({ path }) => path)).to.deep.equal(['/a', '/b', '/a']);
  });

  it('a webhook with a host that is not in --webhook-allow is not called [spec operators-webhook-hosts]', async () => {
    const strict = await TestServer.start({ webhookHosts: ['hooks.example.com'] });
    try {
      const webhooks = [{ name: 'bad.example.com', clientConfig: { url: `${hooks.origin}/bad`, caBundle: ca } }];
      await strict.create(kinds.validating[1], webhookConfiguration('ValidatingWebhookConfiguration', 'bad', webhooks));
      expectRefusal(await strict.post(persons, person('ann')), {
        reason: 'InternalError',
        message: /the host 127\.0\.0\.1:\d+ is not among the hosts of --webhook-allow/,
      });
      expect(hooks.asked).to.be.empty;
    } finally {
      await strict.stop();
    }
  });
});
