// A small operator on kubernetes-fluent-client: it uses leader election by a Lease, and makes a ConfigMap for each
// Widget. The client has neither leader election nor PUT, so the operator renews the Lease by a JSON patch that tests
// the resourceVersion. The client's field manager is always `pepr`.
import { GenericKind, K8s, kind, RegisterKind } from 'kubernetes-fluent-client';

class Widget extends GenericKind {
  declare spec: { readonly size: number };
  declare status?: { readonly phase?: string };
}

class Lease extends GenericKind {
  declare spec: object;
}

RegisterKind(Widget, { group: 'shop.example.com', version: 'v1', kind: 'Widget', plural: 'widgets' });
RegisterKind(Lease, { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases' });

// The first argument, the address of the server, is not used, because this client reads it from its kubeconfig.
const [, url = '', caBundle = ''] = process.argv.slice(2);
const finalizer = 'shop.example.com/fluent';
const namespace = 'default';

function now(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

async function lead(): Promise<void> {
  const name = 'fluent-operator';
  const spec = { holderIdentity: 'fluent', leaseDurationSeconds: 15, acquireTime: now(), renewTime: now() };
  const { metadata } = await K8s(Lease).Create({ metadata: { name, namespace }, spec });
  await K8s(Lease, { name, namespace }).Patch([
    { op: 'test', path: '/metadata/resourceVersion', value: metadata?.resourceVersion },
    { op: 'replace', path: '/spec/renewTime', value: now() },
  ]);
}

async function installWebhook(): Promise<void> {
  const rules = [
    { operations: ['CREATE'], apiGroups: ['shop.example.com'], apiVersions: ['*'], resources: ['widgets'] },
  ];
  const webhook = {
    name: 'widgets.fluent.example.com',
    clientConfig: { url, caBundle },
    rules,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  await K8s(kind.ValidatingWebhookConfiguration).Create({ metadata: { name: 'fluent' }, webhooks: [webhook] });
}

async function reconcile({ metadata = {}, spec, status }: Widget): Promise<void> {
  const { name = '', uid = '', finalizers = [], deletionTimestamp } = metadata;
  const map = { metadata: { name: `${name}-fluent`, namespace }, data: { size: String(spec.size) } };
  if (deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return;
    await K8s(kind.ConfigMap).Delete(map);
    return K8s(Widget).Finalize('remove', finalizer, name);
  }
  if (!finalizers.includes(finalizer)) return K8s(Widget).Finalize('add', finalizer, name);
  if (status?.phase === 'Ready') return;
  await K8s(kind.ConfigMap).Apply(map, { force: true });
  await K8s(kind.CoreEvent).Create({
    metadata: { generateName: 'fluent-', namespace },
    involvedObject: { apiVersion: 'shop.example.com/v1', kind: 'Widget', name, uid },
    reason: 'Made',
    message: 'made',
    type: 'Normal',
  });
  await K8s(Widget).PatchStatus({ metadata: { name }, status: { phase: 'Ready' } });
}

await lead();
await installWebhook();
const watcher = K8s(Widget).Watch(async (widget) => {
  await reconcile(widget).catch((error: unknown) => console.error(error));
});
await watcher.start();
console.log('leading');
