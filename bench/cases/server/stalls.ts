// Measures the longest turn of the event loop while the server does its most expensive work.
import {
  applyDefinition,
  firstRequests,
  HostileProcess,
  largeRequests,
  listOfKind,
  listRequests,
} from '@homeostat/test';
import type { LargeRequest } from '@homeostat/test';
import type { CaseContext } from '../../measure/case.ts';
import { measureFarBehind } from './far-behind.ts';
import { measureLostHistory } from './lost-history.ts';
import type { Row } from '../../measure/result-table.ts';
import { StallMeter } from '../../measure/stall-meter.ts';

const largeLeaves = 8_800;
/**
 * The number of fields without subfields in a usual definition: the mean for the definitions of projects that are
 * installed in many clusters.
 */
const usualLeaves = 300;

/** The run fails if a definition takes longer than this to be served. */
const servedWithinMs = 120_000;

/** Measures the longest stall of each kind of work, and subtracts the longest stall of an idle server. */
export async function stalls({ settings, only }: CaseContext): Promise<readonly Row[]> {
  const server = await HostileProcess.start();
  const meter = new StallMeter(server, only);
  try {
    await meter.measureIdle();
    for (const [number, large] of largeRequests.entries())
      await measureRequest({ server, meter, large, object: `large-${number.toString()}` });
    await server.call('fill', settings.objects);
    for (const [number, large] of listRequests.entries())
      await measureRequest({ server, meter, large, object: `list-${number.toString()}` });
    await measureInformer(server, meter);
    const reindex = (): Promise<void> => server.call('reindex');
    await meter.measure('the server builds new indexes of all objects of a kind', reindex);
    for (const { name, request } of firstRequests)
      await meter.measure(name, () => server.send(request('first')), reindex);
    await measureDefinitions(server, meter, settings.definitions);
  } finally {
    await server.stop();
  }
  return [
    ...meter.rows,
    ...(await measureFarBehind(settings.objects, only)),
    ...(await measureLostHistory(settings.objects, only)),
  ];
}

interface Measured {
  readonly server: HostileProcess;
  readonly meter: StallMeter;
  readonly large: LargeRequest;
  readonly object: string;
}

/** Measures one request several times. Each attempt has its own object. */
async function measureRequest({ server, meter, large, object }: Measured): Promise<void> {
  const { name, before = () => [], request } = large;
  const nameOf = (attempt: number): string => `${object}-${attempt.toString()}`;
  await meter.measure(
    name,
    (attempt) => server.send(request(nameOf(attempt))),
    async (attempt) => {
      for (const each of before(nameOf(attempt))) await server.send(each);
    },
  );
}

const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

/**
 * Measures an informer of all objects, which runs in the server's process: the start of the informer, a new index, and
 * a permission that the informer loses for a moment.
 */
async function measureInformer(server: HostileProcess, meter: StallMeter): Promise<void> {
  await meter.measureOnce('the start of an informer of all objects', () => server.call('follow'));
  await meter.measure('an informer of all objects builds a new index', () => server.call('indexFollowed'));
  let changed = 0;
  const permit = async (isPermitted: boolean): Promise<void> => {
    await server.call('permitFollowing', isPermitted);
    changed += 1;
    const metadata = { name: `change-${changed.toString()}` };
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules: [] };
    const headers = { 'content-type': 'application/json' };
    await server.send({ method: 'POST', path: roles, headers, body: JSON.stringify(role) });
  };
  await meter.measure('a permission that is taken from an informer, and given back', async () => {
    await permit(false);
    await permit(true);
    await server.call('whenFollowed');
  });
  await server.call('unfollow');
}

async function isServed(server: HostileProcess, kind: string): Promise<void> {
  const untilMs = performance.now() + servedWithinMs;
  while ((await server.send(listOfKind(kind))).status !== 200) {
    if (performance.now() > untilMs) throw new Error(`${kind} is not served`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function measureDefinitions(server: HostileProcess, meter: StallMeter, definitions: number): Promise<void> {
  const apply = async (kind: string, leaves: number): Promise<void> => {
    await server.send(applyDefinition(kind, leaves));
    await isServed(server, kind);
  };
  await meter.measure('create a definition of 1.2 MB', (attempt) => apply(`Large${attempt.toString()}`, largeLeaves));
  await meter.measureOnce(`${definitions.toString()} definitions`, async () => {
    for (let number = 0; number < definitions; number += 1)
      await server.send(applyDefinition(`Usual${number.toString()}`, usualLeaves));
    await isServed(server, `Usual${(definitions - 1).toString()}`);
  });
  const openApi = { method: 'GET', path: '/openapi/v3' };
  const document = { method: 'GET', path: '/openapi/v3/apis/definitions.example.com/v1' };
  for (const { name, request } of [
    { name: '/openapi/v3 after a definition has changed', request: openApi },
    { name: 'the largest document of /openapi/v3', request: document },
  ])
    await meter.measure(
      name,
      () => server.send(request),
      (attempt) => apply('Usual0', usualLeaves + 50 * (attempt + 1)),
    );
}
