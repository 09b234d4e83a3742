// A small operator on @kubernetes/client-node: it uses leader election by a Lease, and makes a ConfigMap for each
// Widget.
import {
  AdmissionregistrationV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  V1MicroTime,
} from '@kubernetes/client-node';
import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node';

interface Widget extends KubernetesObject {
  readonly spec: { readonly size: number };
  readonly status?: { readonly phase?: string };
}

const [server = '', webhookUrl = '', caBundle = ''] = process.argv.slice(2);
const finalizer = 'shop.example.com/node';
const kind = { group: 'shop.example.com', version: 'v1', plural: 'widgets' };

const config = new KubeConfig();
config.loadFromOptions({
  clusters: [{ name: 'local', server, skipTLSVerify: true }],
  users: [{ name: 'local' }],
  contexts: [{ name: 'local', cluster: 'local', user: 'local' }],
  currentContext: 'local',
});
const core = config.makeApiClient(CoreV1Api);
const custom = config.makeApiClient(CustomObjectsApi);
const leases = config.makeApiClient(CoordinationV1Api);
const admission = config.makeApiClient(AdmissionregistrationV1Api);
const objects = KubernetesObjectApi.makeApiClient(config);
const mergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

async function lead(): Promise<void> {
  const now = new V1MicroTime();
  const body = {
    metadata: { name: 'node-operator' },
    spec: { holderIdentity: 'node', leaseDurationSeconds: 15, acquireTime: now, renewTime: now },
  };
  const held = await leases.createNamespacedLease({ namespace: 'default', body });
  if (held.spec !== undefined) held.spec.renewTime = new V1MicroTime();
  await leases.replaceNamespacedLease({ name: 'node-operator', namespace: 'default', body: held });
}

async function installWebhook(): Promise<void> {
  const rules = [{ operations: ['CREATE'], apiGroups: [kind.group], apiVersions: ['*'], resources: [kind.plural] }];
  const webhook = {
    name: 'widgets.node.example.com',
    clientConfig: { url: webhookUrl, caBundle },
    rules,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  await admission.createValidatingWebhookConfiguration({ body: { metadata: { name: 'node' }, webhooks: [webhook] } });
}

async function reconcile({ metadata = {}, spec, status }: Widget): Promise<void> {
  const { name = '', uid = '', finalizers = [], deletionTimestamp } = metadata;
  const patch = async (body: object): Promise<void> => {
    await custom.patchClusterCustomObject({ ...kind, name, body }, mergePatch);
  };
  if (deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return;
    await core.deleteNamespacedConfigMap({ name: `${name}-node`, namespace: 'default' });
    return patch({ metadata: { finalizers: finalizers.filter((each) => each !== finalizer) } });
  }
  if (!finalizers.includes(finalizer)) return patch({ metadata: { finalizers: [...finalizers, finalizer] } });
  if (status?.phase === 'Ready') return;
  const map = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-node`, namespace: 'default' },
    data: { size: String(spec.size) },
  };
  await objects.patch(map, undefined, undefined, 'node-operator', true, PatchStrategy.ServerSideApply);
  const involvedObject = { apiVersion: 'shop.example.com/v1', kind: 'Widget', name, uid };
  const event = {
    metadata: { generateName: 'node-' },
    involvedObject,
    reason: 'Made',
    message: 'made',
    type: 'Normal',
  };
  await core.createNamespacedEvent({ namespace: 'default', body: event });
  await custom.patchClusterCustomObjectStatus({ ...kind, name, body: { status: { phase: 'Ready' } } }, mergePatch);
}

await lead();
await installWebhook();
// The cast is needed, because the client's types do not have the type of the returned objects.
const list = async (): Promise<KubernetesListObject<Widget>> =>
  (await custom.listClusterCustomObject(kind)) as KubernetesListObject<Widget>;
const informer = makeInformer<Widget>(config, '/apis/shop.example.com/v1/widgets', list);
const onChange = (widget: Widget): void => {
  reconcile(widget).catch((error: unknown) => console.error(error));
};
informer.on('add', onChange);
informer.on('update', onChange);
informer.on('error', (error: unknown) => console.error(error));
await informer.start();
console.log('leading');
