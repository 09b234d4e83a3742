import { Child } from '../../processes/child.ts';
import type { Row } from '../../measure/result-table.ts';
import type { Settings } from '../../measure/settings.ts';
import { WebhookServer } from '../../load/webhook-server.ts';
import type { Certificate, Reviewed } from '../../load/webhook-server.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definitionPath = `${definitions}/widgets.shop.example.com`;

/**
 * The target: the average call of the webhook has at least this number of objects. A call has at most
 * a hundred objects.
 */
const leastPerCall = 50;

const mostSeconds = 60;

/** Measures a change of the storage version, and a list in the other version, when a webhook converts the objects. */
export async function conversionRows(
  certificate: Certificate,
  { objects }: Pick<Settings, 'objects'>,
): Promise<readonly Row[]> {
  const count = objects / 20;
  const hook = await WebhookServer.start(certificate, convert);
  await using server = new Child('api-server');
  try {
    const url = await server.call<string>('startWith', { database: 'memory:', port: 0 });
    await send(`${url}${definitions}`, 'POST', definition('v1', hook));
    await until(async () => (await fetch(pathOf(url, 'v1'))).ok);
    await createAll(url, count);
    const beforeMs = server.cpuMs();
    const changed = await timed(async () => {
      await send(`${url}${definitionPath}`, 'PATCH', definition('v1beta1', hook));
      await until(async () => isStored(url, 'v1beta1'));
    });
    const cpuMs = (server.cpuMs() - beforeMs) / count;
    const { calls } = hook;
    const list = async (): Promise<number> => timed(async () => (await fetch(pathOf(url, 'v1'))).text());
    const [first, second] = [await list(), await list()];
    await server.call('stop');
    const name = `conversion webhook: ${count.toString()} objects`;
    return [
      {
        name: `${name}, at a change of the storage version`,
        target: { text: `<= ${(count / leastPerCall).toString()} calls`, isMet: calls <= count / leastPerCall },
        note: `${calls.toString()} calls, ${(changed / 1000).toFixed(2)} s until the kind is served, ${cpuMs.toFixed(3)} ms of processor time for each object`,
      },
      {
        name: `${name}, listed in the other version`,
        note: `${first.toFixed(0)} ms, and ${second.toFixed(0)} ms when the objects have already been converted`,
      },
    ];
  } finally {
    hook.stop();
  }
}

function convert({ objects = [], desiredAPIVersion }: Reviewed): object {
  const convertedObjects = objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
  return { convertedObjects, result: { status: 'Success' } };
}

function definition(storage: string, { clientConfig }: WebhookServer): object {
  const spec = { type: 'object', properties: { text: { type: 'string' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  const versions = ['v1', 'v1beta1'].map((name) => ({ name, served: true, storage: name === storage, schema }));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.shop.example.com' },
    spec: {
      group: 'shop.example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget' },
      versions,
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    },
  };
}

function pathOf(url: string, version: string): string {
  return `${url}/apis/shop.example.com/${version}/widgets`;
}

/** Creates `count` objects of 1 KB. */
async function createAll(url: string, count: number): Promise<void> {
  const spec = { text: 'x'.repeat(700) };
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      const metadata = { name: `w${next.toString()}` };
      await send(pathOf(url, 'v1'), 'POST', { apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata, spec });
    }
  };
  await Promise.all(Array.from({ length: 8 }, create));
}

async function isStored(url: string, version: string): Promise<boolean> {
  const { status } = (await (await fetch(`${url}${definitionPath}`)).json()) as {
    readonly status?: { readonly storedVersions?: readonly string[] };
  };
  return status?.storedVersions?.includes(version) === true && (await fetch(`${pathOf(url, version)}?limit=1`)).ok;
}

async function send(url: string, method: 'PATCH' | 'POST', body: object): Promise<void> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await fetch(url, { method, headers: { 'content-type': type }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${url}: ${await answer.text()}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const sinceMs = performance.now();
  await work();
  return performance.now() - sinceMs;
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + mostSeconds * 1000;
  while (!(await isDone())) {
    if (performance.now() > untilMs) throw new Error(`not done after ${mostSeconds.toString()} s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
