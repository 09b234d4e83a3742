import { setTimeout as delay } from 'node:timers/promises';
import type { EtcdCluster } from '../support/databases/etcd-cluster.ts';
import type { HistoryDatabase } from './database.ts';
import { pick } from '../support/writes/random.ts';
import type { Replica } from './replica.ts';
import type { Watcher } from './watcher.ts';

/**
 * - `kill`: SIGKILL of a replica, and a new process shortly afterwards
 * - `pause`: SIGSTOP of a replica for about a second
 * - `endSessions`: the database ends the sessions of a replica
 * - `cutDatabase`: a replica's connections to the database break, and new ones are refused for about a second
 * - `stallDatabase`: these connections transfer no data for about a second
 * - `slowWatchers`: watchers do not read for about a second
 * - `killMember`: SIGKILL of a member of the etcd cluster, often its leader, and a new process about a second later
 * - `pauseMember`: SIGSTOP of a member
 * - `cutMember`: a member and the other members cannot reach each other
 * - `slowMembers`: data between members take 50 ± 30 ms
 */
export type Fault =
  | 'kill'
  | 'pause'
  | 'endSessions'
  | 'cutDatabase'
  | 'stallDatabase'
  | 'slowWatchers'
  | 'killMember'
  | 'pauseMember'
  | 'cutMember'
  | 'slowMembers';

export interface FaultTargets {
  readonly database: HistoryDatabase;
  readonly replicas: readonly Replica[];
  readonly watchers: readonly Watcher[];
}

interface Injection extends FaultTargets {
  readonly replica: Replica;
  /** The duration of most faults in ms, between 200 and 1500. Some last a fifth of it, others twice as long. */
  readonly lastingMs: number;
  readonly random: () => number;
}

/** The function of each fault, which resolves when the fault is over. */
const faults: Readonly<Record<Fault, (injection: Injection) => Promise<void>>> = {
  async kill({ replica, lastingMs }) {
    await replica.kill();
    await delay(lastingMs / 5);
    await replica.start();
  },
  async pause({ replica, lastingMs }) {
    replica.pause();
    await delay(lastingMs);
    replica.resume();
  },
  async endSessions({ database, replica }) {
    await database.server?.endSessions(replica.proxy?.ports);
  },
  async cutDatabase({ replica, lastingMs }) {
    replica.proxy?.down();
    await delay(lastingMs);
    replica.proxy?.up();
  },
  async stallDatabase({ replica, lastingMs }) {
    replica.proxy?.stall();
    await delay(lastingMs);
    replica.proxy?.up();
  },
  async slowWatchers({ watchers, lastingMs }) {
    for (const watcher of watchers) watcher.pause();
    await delay(lastingMs);
    for (const watcher of watchers) watcher.resume();
  },
  async killMember({ database: { cluster }, lastingMs, random }) {
    const member = await memberOf(cluster, random);
    await cluster?.kill(member);
    await delay(lastingMs);
    cluster?.start(member);
    await cluster?.ready([member]);
  },
  async pauseMember({ database: { cluster }, lastingMs, random }) {
    const member = await memberOf(cluster, random);
    member.process?.kill('SIGSTOP');
    await delay(2 * lastingMs);
    member.process?.kill('SIGCONT');
  },
  async cutMember({ database: { cluster }, lastingMs, random }) {
    await cluster?.isolate(await memberOf(cluster, random));
    await delay(2 * lastingMs);
    cluster?.heal();
  },
  async slowMembers({ database: { cluster }, lastingMs, random }) {
    cluster?.slowDown(() => 20 + 60 * random());
    await delay(lastingMs);
    cluster?.heal();
  },
};

/** Returns a member of the cluster: the leader in half of the calls, otherwise any member. */
async function memberOf(
  cluster: EtcdCluster | undefined,
  random: () => number,
): Promise<EtcdCluster['members'][number]> {
  if (cluster === undefined) throw new TypeError('the database has no cluster');
  return random() < 0.5 ? cluster.leader() : pick(random, cluster.members);
}

/**
 * Causes one fault after the other until `signal` aborts, each after a pause in which the service recovers. Returns the
 * number of faults.
 */
export async function injectFaults(
  targets: FaultTargets,
  { kinds, random, signal }: { kinds: readonly Fault[]; random: () => number; signal: AbortSignal },
): Promise<number> {
  let count = 0;
  while (!signal.aborted) {
    await delay(200 + 600 * random());
    const [kind, replica] = [pick(random, kinds), pick(random, targets.replicas)];
    await faults[kind]({ ...targets, replica, lastingMs: 200 + 1300 * random(), random });
    count += 1;
  }
  return count;
}
