import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { issuerCertificate } from './support/logins/issuer-certificate.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import { WebhookServer } from './support/network/webhook-server.ts';
import { establish, newWidget, widgetDefinition, widgets } from './support/definitions/widget-definition.ts';

/**
 * The path of Debian's Python, if it exists, because only this one finds Debian's packages. Another Python may come
 * first on the PATH.
 */
const python = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

/**
 * Small operators for this test, each with a client library of its language. kubernetes-fluent-client has a fixed field
 * manager, and its versions from 3.11.11 on need Node 22.19.
 */
const operators: readonly Operator[] = [
  {
    language: 'python',
    library: 'python3-kubernetes',
    program: [python, 'operator.py'],
    probe: [python, '-c', 'import kubernetes'],
  },
  {
    language: 'ruby',
    library: 'ruby-kubeclient',
    program: ['ruby', 'operator.rb'],
    probe: ['ruby', '-e', 'require "kubeclient"'],
  },
  {
    language: 'node',
    library: '@kubernetes/client-node',
    program: [process.execPath, 'operator.js'],
    probe: [process.execPath, '-v'],
  },
  {
    language: 'fluent',
    library: 'kubernetes-fluent-client',
    program: [process.execPath, 'fluent-operator.js'],
    probe: [process.execPath, '-v'],
    manager: 'pepr',
  },
];

interface Operator {
  readonly language: string;
  readonly library: string;
  readonly program: readonly [command: string, file: string];
  /** A command that succeeds when the library is installed. */
  readonly probe: readonly [command: string, ...arguments_: string[]];
  /** The field manager of the operator. Default: `<language>-operator`. */
  readonly manager?: string;
}

describe('operators on stock clients [slow]', () => {
  let folder: string;
  let ca: string;
  let hooks: WebhookServer;
  let server: TestServer;
  const running = new Set<ChildProcess>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-operators-'));
    const certificate = await issuerCertificate(folder);
    ca = Buffer.from(certificate.ca).toString('base64');
    hooks = await WebhookServer.start(certificate.pem);
    server = await TestServer.start();
    await establish(server, widgetDefinition());
    await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfigOf(server.api.url)));
  });

  afterEach(async () => {
    for (const child of running) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    running.clear();
    await server.delete('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations');
  });

  after(async () => {
    await server?.stop();
    await hooks?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  /**
   * Starts an operator, and waits until it holds the Lease and has created its webhook configuration. Returns a
   * function that returns the operator's output.
   */
  async function start([command, file]: readonly [string, string], language: string): Promise<() => string> {
    const script = file.endsWith('.js')
      ? fileURLToPath(new URL(`./operators/${file}`, import.meta.url))
      : fileURLToPath(new URL(`../operators/${file}`, import.meta.url));
    const env = { ...process.env, KUBECONFIG: join(folder, 'kubeconfig') };
    const child = spawn(command, [script, server.api.url, `${hooks.origin}/${language}`, ca], { env });
    running.add(child);
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
      });
    await eventually(() => printed.includes('leading') || child.exitCode !== null, { describe: () => printed });
    expect(child.exitCode, printed).to.equal(null);
    return () => printed;
  }

  for (const { language, library, program, probe, manager = `${language}-operator` } of operators) {
    it(`${library} works with a Lease, a webhook, a watch, a finalizer, server-side apply, status and events [spec operators-clients]`, async function () {
      try {
        execFileSync(probe[0], probe.slice(1), { stdio: 'ignore' });
      } catch {
        this.skipBecause(`${library} is not installed`);
      }
      hooks.on(`/${language}`, ({ object }) => ({ allowed: object.spec.size < 100, status: { message: 'too large' } }));
      const printed = await start(program, language);
      const describe = (): string => printed();
      const lease = await server.get(`/apis/coordination.k8s.io/v1/namespaces/default/leases/${language}-operator`);
      expect(lease.body.spec).to.include({ holderIdentity: language, leaseDurationSeconds: 15 });
      expectRefusal(await server.post(widgets, newWidget('huge', { size: 100 })), {
        reason: 'BadRequest',
        message: `admission webhook "widgets.${language}.example.com" denied the request: too large`,
      });
      const widget = `${widgets}/${language}-a`;
      await server.create(widgets, newWidget(`${language}-a`, { size: 7 }));
      await eventually(async () => (await server.get(widget)).body.status?.phase === 'Ready', { describe });
      const { body: stored } = await server.get(widget);
      expect(stored.metadata.finalizers).to.deep.equal([`shop.example.com/${language}`]);
      const map = await server.get(`/api/v1/namespaces/default/configmaps/${language}-a-${language}`);
      expect(map.body.data).to.deep.equal({ size: '7' });
      expect(map.body.metadata.managedFields[0]).to.include({ manager, operation: 'Apply' });
      const events = await server.get(`/api/v1/events?fieldSelector=involvedObject.uid%3D${stored.metadata.uid}`);
      expect(events.body.items[0]).to.include({ reason: 'Made', message: 'made' });
      await server.delete(widget);
      await eventually(async () => (await server.get(widget)).status === 404, { describe });
      expect((await server.get(`/api/v1/namespaces/default/configmaps/${language}-a-${language}`)).status).to.equal(
        404,
      );
    });
  }
});

/** Returns a kubeconfig. Node clients accept a server without TLS only with `insecure-skip-tls-verify`. */
function kubeconfigOf(server: string): object {
  const name = 'local';
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
}
