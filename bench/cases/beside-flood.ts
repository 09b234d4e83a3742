import { join } from 'node:path';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import type { Flood } from '../children/flood.ts';
import { median, medianFigures } from '../figures.ts';
import type { Figures } from '../figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../http-load.ts';
import { creations, startedServer, writeTokenFile } from '../person-server.ts';
import type { Row } from '../result-table.ts';

const floodConnections = 2000;
const [floodToken, userToken] = ['token-of-a-user-who-floods', 'token-of-another-user'];

/** The interval of a lease's renewals. */
const renewalMs = 100;

/** A controller that renews its lease later than this may lose it: the default renewal deadline is 10 s. */
const mostRenewalMs = 2000;

/** The other user has 4 requests in flight: alone, and beside a user with 2,000. A lease is renewed all the time. */
export async function besideFlood({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  await using flood = new Child('flood');
  const tokenFile = join(folder, 'tokens.yaml');
  await writeTokenFile(tokenFile, [
    { token: floodToken, user: 'user-0' },
    { token: userToken, user: 'user-1' },
  ]);
  // All connections come from one address, and at once.
  const maxUnknownConnectionsPerAddress = 2 * floodConnections;
  const database = `sqlite:${join(folder, 'fairness.db')}`;
  const url = await startedServer(server, { database, tokenFile, maxUnknownConnectionsPerAddress });
  const { rounds, seconds } = settings;
  const request = creations('q', userToken);
  const measure = (): Promise<Figures> => loadHttp({ url, connections: 4, seconds, request });
  const flooded: Figures[] = [];
  const alone: Figures[] = [];
  const floodRates: number[] = [];
  const renewals: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const quiet = await measure();
    const flooding = flood.call<number>('run', {
      url,
      token: floodToken,
      connections: floodConnections,
      seconds: seconds + 3,
    } satisfies Flood);
    const slowest = renewLease(url, flooding);
    await untilBegun();
    const loud = await measure();
    const rate = await flooding;
    renewals.push(await slowest);
    if (round === 0) continue;
    alone.push(quiet);
    flooded.push(loud);
    floodRates.push(rate);
  }
  return [rowOf({ alone, flooded, floodRates, slowestRenewalMs: Math.max(...renewals) })];
}

interface Found {
  readonly alone: readonly Figures[];
  readonly flooded: readonly Figures[];
  readonly floodRates: readonly number[];
  readonly slowestRenewalMs: number;
}

function rowOf({ alone, flooded, floodRates, slowestRenewalMs }: Found): Row {
  const [ours, limit] = [medianFigures(flooded), medianFigures(alone)];
  const factor = (ours.p99Ms ?? Number.NaN) / (limit.p99Ms ?? Number.NaN);
  const half = ours.p50Ms / limit.p50Ms;
  const note =
    `p99 is ${factor.toFixed(1)} times, and p50 ${half.toFixed(1)} times, that of the user alone; the other user creates ` +
    `${Math.round(median(floodRates)).toString()}/s; the slowest renewal of a lease took ${slowestRenewalMs.toFixed(0)} ms`;
  const text = `p99 <= 3 x alone, leases in ${mostRenewalMs.toString()} ms`;
  const target = { text, isMet: factor <= 3 && slowestRenewalMs <= mostRenewalMs };
  return { name: 'creates beside a flood of 2,000', ours, limit, target, note };
}

/** Renews a lease until the flood is over; resolves with the milliseconds of the slowest renewal. */
async function renewLease(url: string, flooding: Promise<unknown>): Promise<number> {
  using connection = await HttpConnection.connect(url);
  let isOver = false;
  const over = flooding.finally(() => (isOver = true)).catch(() => undefined);
  let slowestMs = 0;
  for (let turn = 1; !isOver; turn += 1) {
    const startMs = performance.now();
    await connection.send(renewal(turn));
    slowestMs = Math.max(slowestMs, performance.now() - startMs);
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, renewalMs))]);
  }
  return slowestMs;
}

function renewal(leaseTransitions: number): string {
  const apiVersion = 'coordination.k8s.io/v1';
  const spec = { holderIdentity: 'bench', leaseTransitions };
  const body = JSON.stringify({ apiVersion, kind: 'Lease', metadata: { name: 'bench' }, spec });
  const path = `/apis/${apiVersion}/namespaces/default/leases/bench?fieldManager=bench&force=true`;
  return formatRequest('PATCH', path, { body, token: userToken });
}

/** The time that the flood needs to open its connections. */
function untilBegun(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2000));
}
