import { join } from 'node:path';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { median } from '../figures.ts';
import type { Figures } from '../figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../http-load.ts';
import { personsPath } from '../person.ts';
import { creations, startedServer, writeTokenFile } from '../person-server.ts';
import { ratioAtLeast } from '../result-table.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

const [masterToken, userToken] = ['token-of-the-administrator', 'token-of-a-user-by-a-role'];

const connections = 64;

/** A server with open access beside one that asks for a token and decides by a role. */
interface Contestant {
  readonly child: Child;
  readonly url: string;
  readonly token?: string;
  /** Microseconds of processor time for each operation of a round. */
  readonly costs: number[];
}

/** Creates and gets of a user with a token and a role: throughput and processor time beside those of an open server. */
export async function besideOpen({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using required = new Child('api-server');
  await using open = new Child('api-server');
  const tokenFile = join(folder, 'required-tokens.yaml');
  await writeTokenFile(tokenFile, [
    { token: masterToken, user: 'master' },
    { token: userToken, user: 'user', group: 'writers' },
  ]);
  const requiredUrl = await startedServer(required, { database: `sqlite:${join(folder, 'required.db')}`, tokenFile });
  const openUrl = await startedServer(open, { database: `sqlite:${join(folder, 'open.db')}`, auth: 'open' });
  await allowWriters(requiredUrl);
  const asking = { child: required, url: requiredUrl };
  const compare = async (
    name: string,
    requestOf: (token?: string) => () => string,
    { child, url }: Pick<Contestant, 'child' | 'url'> = asking,
  ): Promise<Row> => {
    const ours: Contestant = { child, url, token: userToken, costs: [] };
    const limit: Contestant = { child: open, url: openUrl, costs: [] };
    const load = (contestant: Contestant): (() => Promise<Figures>) => {
      const request = requestOf(contestant.token);
      return () => measured(contestant, { request, seconds: settings.seconds });
    };
    const found = await alternate(settings.rounds, { ours: load(ours), limit: load(limit) });
    const note = `${costOf(ours).toFixed(1)} us of processor time; open: ${costOf(limit).toFixed(1)} us`;
    const target = child === open ? {} : { target: ratioAtLeast(0.95, found) };
    return { name, ...found, ...target, note };
  };
  const get =
    (token?: string): (() => string) =>
    () =>
      formatRequest('GET', `${personsPath}/r-1`, token === undefined ? '' : { token });
  return [
    await compare('http-create, required beside open', (token) => creations('r', token)),
    await compare('http-get, required beside open', get),
    // The least that a token can cost: the open server receives it, and does not read it.
    await compare('http-get, a token that is not read beside none', get, { child: open, url: openUrl }),
  ];
}

async function measured(
  { child, url, costs }: Contestant,
  { request, seconds }: { readonly request: () => string; readonly seconds: number },
): Promise<Figures> {
  let sent = 0;
  const counted = (): string => {
    sent += 1;
    return request();
  };
  const beforeMs = child.cpuMs();
  const figures = await loadHttp({ url, connections, seconds, request: counted });
  costs.push(((child.cpuMs() - beforeMs) / sent) * 1000);
  return figures;
}

/** The first round is left out, as everywhere. */
function costOf({ costs }: Contestant): number {
  return median(costs.slice(1));
}

/** Gives the group `writers` a role for persons. */
async function allowWriters(url: string): Promise<void> {
  using connection = await HttpConnection.connect(url);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  const metadata = { name: 'writers' };
  const rules = [{ apiGroups: ['people.example.com'], resources: ['persons'], verbs: ['get', 'list', 'create'] }];
  const roleRef = { apiGroup, kind: 'ClusterRole', name: 'writers' };
  const subjects = [{ apiGroup, kind: 'Group', name: 'writers' }];
  const create = (plural: string, object: object): Promise<void> =>
    connection.send(formatRequest('POST', `${rbac}/${plural}`, { body: JSON.stringify(object), token: masterToken }));
  await create('clusterroles', { apiVersion, kind: 'ClusterRole', metadata, rules });
  await create('clusterrolebindings', { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects });
}
