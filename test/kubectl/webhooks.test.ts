import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { issuerCertificate } from '../support/logins/issuer-certificate.ts';
import { KubectlSetup } from './kubectl-setup.ts';
import { webhookConfiguration, WebhookServer } from '../support/network/webhook-server.ts';

describe('kubectl with webhooks [slow]', () => {
  let kubectl: KubectlSetup;
  let folder: string;
  let hooks: WebhookServer;
  let caBundle: string;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
    folder = await mkdtemp(join(tmpdir(), 'homeostat-webhooks-'));
    const certificate = await issuerCertificate(folder);
    caBundle = Buffer.from(certificate.ca).toString('base64');
    hooks = await WebhookServer.start(certificate.pem);
  });

  after(async () => {
    await kubectl?.stop();
    await hooks?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  it('apply, get and delete work for webhooks, and create shows the refusal of a webhook [compat webhooks]', async () => {
    hooks.on('/grown', ({ object }) => ({
      allowed: object.spec.age >= 18,
      warnings: ['ages are checked'],
      status: { code: 403, reason: 'Forbidden', message: 'too young' },
    }));
    const rules = [
      { operations: ['CREATE'], apiGroups: ['demo.example.com'], apiVersions: ['*'], resources: ['persons'] },
    ];
    const webhook = { name: 'grown.demo.example.com', clientConfig: { url: `${hooks.origin}/grown`, caBundle }, rules };
    const file = await kubectl.file(
      'webhook.json',
      webhookConfiguration('ValidatingWebhookConfiguration', 'grown', [webhook]),
    );
    const applied = await kubectl.run('apply', '-f', file);
    expect(applied).to.include({ exit: 0, stderr: '' });
    expect(applied.stdout).to.equal('validatingwebhookconfiguration.admissionregistration.k8s.io/grown created\n');
    const table = await kubectl.run('get', 'validatingwebhookconfigurations');
    expect(table.stdout).to.match(/^NAME +WEBHOOKS +AGE\ngrown +1 +\d+m?s?/);
    const young = {
      apiVersion: 'demo.example.com/v1alpha1',
      kind: 'Person',
      metadata: { name: 'cid' },
      spec: { name: 'Cid', age: 7 },
    };
    const refused = await kubectl.run('create', '-f', await kubectl.file('cid.json', young));
    expect(refused.exit).to.equal(1);
    expect(refused.stderr).to.contain('Warning: ages are checked');
    expect(refused.stderr).to.contain('admission webhook "grown.demo.example.com" denied the request: too young');
    const deleted = await kubectl.run('delete', 'validatingwebhookconfiguration', 'grown');
    expect(deleted.stdout).to.contain('deleted');
    const explained = await kubectl.run('explain', 'mutatingwebhookconfiguration.webhooks.reinvocationPolicy');
    expect(explained.stdout).to.contain('IfNeeded');
  });
});
