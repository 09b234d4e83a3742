import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Flood } from '../../children/flood.ts';
import { figuresOf, median, medianFigures } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../../load/http-load.ts';
import { creations, startedServer, writeTokenFile } from '../../load/person-server.ts';
import type { Row } from '../../measure/result-table.ts';

const floodConnections = 2000;
const [floodToken, userToken] = ['token-of-a-user-who-floods', 'token-of-another-user'];

/** The interval between two renewals of the lease. */
const renewalMs = 100;

/** The interval between two new connections. */
const arrivalMs = 100;

/**
 * The number of requests that the server runs at the same time during the flood: 4 of the measured user, and 4 of the
 * flooding user, whose other requests wait while other users send requests.
 */
const inProgress = 4 + 4;

/**
 * The target for the slowest renewal. It is well below 10 s, the default deadline after which a controller gives up its
 * lease.
 */
const mostRenewalMs = 2000;

/**
 * Measures a user with 4 requests in flight: alone, and while another user floods the server with 2,000. During the
 * flood, also measures the renewals of a lease and new connections.
 */
export async function besideFlood({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  await using flood = new Child('flood');
  const tokenFile = join(folder, 'tokens.yaml');
  await writeTokenFile(tokenFile, [
    { token: floodToken, user: 'user-0' },
    { token: userToken, user: 'user-1' },
  ]);
  // All connections come from one address at the same time, and the server must accept them all.
  const maxUnknownConnectionsPerAddress = 2 * floodConnections;
  const database = `sqlite:${join(folder, 'fairness.db')}`;
  const url = await startedServer(server, { database, tokenFile, maxUnknownConnectionsPerAddress });
  const { rounds, seconds } = settings;
  const request = creations('q', userToken);
  const measure = (connections: number): Promise<Figures> => loadHttp({ url, connections, seconds, request });
  const found: Found = { alone: [], least: [], flooded: [], floodRates: [], renewalsMs: [], arrivals: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const alone = await measure(4);
    const least = await measure(inProgress);
    const flooding = flood.call<number>('run', {
      url,
      token: floodToken,
      connections: floodConnections,
      seconds: seconds + 3,
    } satisfies Flood);
    const slowest = renewLease(url, flooding);
    const arriving = connectAgainAndAgain(url, flooding);
    await untilBegun();
    const flooded = await measure(4);
    const rate = await flooding;
    found.renewalsMs.push(await slowest);
    const arrivals = await arriving;
    if (round === 0) continue;
    found.alone.push(alone);
    found.least.push(least);
    found.flooded.push(flooded);
    found.floodRates.push(rate);
    found.arrivals.push(arrivals);
  }
  return [rowOf(found), leastRow(found), arrivalRow(found)];
}

/** The measured figures: each list has one item for each round. Only `renewalsMs` includes the warm-up round. */
interface Found {
  readonly alone: Figures[];
  /**
   * The figures of the measured user without a flood, with 8 requests in flight ({@link inProgress}): the same number
   * that the server runs at the same time during a flood, 4 of this user and 4 of the flooding user.
   */
  readonly least: Figures[];
  readonly flooded: Figures[];
  readonly floodRates: number[];
  readonly renewalsMs: number[];
  /** The times of new connections, from the attempt to connect to the first response. */
  readonly arrivals: Figures[];
}

function rowOf({ alone, flooded, floodRates, renewalsMs }: Found): Row {
  const [ours, limit] = [medianFigures(flooded), medianFigures(alone)];
  const factor = tailFactor(ours, limit);
  const slowestMs = Math.max(...renewalsMs);
  const half = ours.p50Ms / limit.p50Ms;
  const note =
    `the flood makes the user's p99 ${factor.toFixed(1)} times, and p50 ${half.toFixed(1)} times, as long; the flood ` +
    `creates ${Math.round(median(floodRates)).toString()} objects/s; the slowest renewal of a lease took ${slowestMs.toFixed(0)} ms`;
  const text = `the flood makes the user's p99 at most 3 times as long, and each renewal of a lease takes at most ${mostRenewalMs.toString()} ms`;
  const target = { text, isMet: factor <= 3 && slowestMs <= mostRenewalMs };
  return { name: 'creates while another user floods the server with 2,000 requests', ours, limit, target, note };
}

/**
 * Returns the row that shows the least delay that a flood can cause. There is no flood in this row, but the measured
 * user has 8 requests in flight instead of 4: the same number that the server runs at the same time during the flood.
 */
function leastRow({ alone, least }: Found): Row {
  const [ours, limit] = [medianFigures(least), medianFigures(alone)];
  const note = `p99 is ${tailFactor(ours, limit).toFixed(1)} times as long as with 4 requests of this user in flight`;
  return { name: `creates with ${inProgress.toString()} requests in flight, without a flood`, ours, limit, note };
}

function arrivalRow({ arrivals }: Found): Row {
  const note = 'for each connection, the time from the attempt to connect until the response of /livez';
  return {
    name: 'new connections while a user floods the server with 2,000 requests',
    ours: medianFigures(arrivals),
    note,
  };
}

function tailFactor(ours: Figures, limit: Figures): number {
  return (ours.p99Ms ?? Number.NaN) / (limit.p99Ms ?? Number.NaN);
}

/** Opens one connection after the other, each for one health check, until the flood is over. */
async function connectAgainAndAgain(url: string, flooding: Promise<unknown>): Promise<Figures> {
  let isOver = false;
  const over = flooding.finally(() => (isOver = true)).catch(() => undefined);
  const latencies: number[] = [];
  const begunMs = performance.now();
  while (!isOver) {
    const startMs = performance.now();
    using connection = await HttpConnection.connect(url);
    await connection.send(formatRequest('GET', '/livez'));
    latencies.push(performance.now() - startMs);
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, arrivalMs))]);
  }
  return figuresOf(Float64Array.from(latencies), performance.now() - begunMs);
}

/**
 * Renews a lease again and again until the flood is over. Resolves with the time of the slowest renewal, in
 * milliseconds.
 */
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

/** Waits two seconds, in which the flood opens its connections. */
function untilBegun(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2000));
}
