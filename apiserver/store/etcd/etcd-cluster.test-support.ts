import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { testPatienceMs } from '@homeostat/controller-runtime/testing';

import { PeerProxy } from './peer-proxy.test-support.ts';

const run = promisify(execFile);

/**
 * The ports of members are below the ephemeral ports of operating systems, so that no connection gets such a port by
 * chance. Each worker of mocha has its own ports, so that it does not use a port that a member of another worker has
 * just released.
 */
const portsOfWorker = 200;
const ports = {
  first: 31_000 + (Number(process.env['MOCHA_WORKER_ID'] ?? 7) % 8) * portsOfWorker,
  count: portsOfWorker,
};

export interface EtcdClusterOptions {
  /** The number of members. Default 3. */
  readonly size?: number;
  /** True: members connect to each other through proxies. Default false. */
  readonly proxied?: boolean;
  /** Further arguments of each member. */
  readonly args?: readonly string[];
  /** The scheme of the clients' URLs. `https` requires certificates in {@link args}. Default `http`. */
  readonly scheme?: 'http' | 'https';
  /** Further arguments of each call of etcdctl. */
  readonly ctlArgs?: readonly string[];
}

export interface EtcdMember {
  readonly name: string;
  /** The address for clients, as `host:port`. */
  readonly endpoint: string;
  readonly peerPort: number;
  readonly proxy: PeerProxy | undefined;
  process: ChildProcess | undefined;
}

/** A cluster that runs the etcd of the PATH. Its data are in a folder for temporary files. */
export class EtcdCluster {
  readonly #options: EtcdClusterOptions;
  readonly #folder: string;
  #members: readonly EtcdMember[] = [];
  #generation = 0;

  private constructor(options: EtcdClusterOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
  }

  static async start(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
    // Another process may have taken one of the ports since they were found free, so a failed start is repeated once.
    return EtcdCluster.#start(options).catch(() => EtcdCluster.#start(options));
  }

  /**
   * Returns the cluster that all test files of the run share, if there is one; otherwise a cluster of one member for
   * this file. Each test must use its own prefix, and must neither stop members nor compact the history.
   */
  static async shared(): Promise<EtcdCluster> {
    const endpoint = process.env['HOMEOSTAT_TEST_ETCD'];
    if (endpoint === undefined) return EtcdCluster.start({ size: 1 });
    const cluster = new EtcdCluster({}, await mkdtemp(join(tmpdir(), 'homeostat-etcd-')));
    cluster.#members = [{ name: 'shared', endpoint, peerPort: 0, proxy: undefined, process: undefined }];
    return cluster;
  }

  static async #start(options: EtcdClusterOptions): Promise<EtcdCluster> {
    const cluster = new EtcdCluster(options, await mkdtemp(join(tmpdir(), 'homeostat-etcd-')));
    try {
      const size = options.size ?? 3;
      for (let at = 0; at < size; at += 1) cluster.#members = [...cluster.#members, await cluster.#member(`m${at}`)];
      for (const member of cluster.#members) cluster.start(member, ['--initial-cluster', cluster.#peers()]);
      await cluster.ready();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get members(): readonly EtcdMember[] {
    return this.#members;
  }

  /** Returns the URL of a database with the given members; by default, with all members. */
  url(prefix: string, members: readonly EtcdMember[] = this.#members): string {
    return `etcd://${members.map(({ endpoint }) => endpoint).join(',')}${prefix}`;
  }

  /**
   * Starts a member, for the first time or after it has ended. `args` come after the arguments that all members get,
   * and override those with the same name.
   */
  start(member: EtcdMember, args: readonly string[] = []): void {
    const { scheme = 'http', args: own = [] } = this.#options;
    const client = `${scheme}://${member.endpoint}`;
    const all = [
      `--name=${member.name}`,
      `--data-dir=${this.#dataOf(member)}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=http://127.0.0.1:${member.peerPort}`,
      `--initial-advertise-peer-urls=${peerUrlOf(member)}`,
      ...own,
      ...args,
    ];
    member.process = spawn('etcd', all, { stdio: 'ignore' });
  }

  /** Resolves when the given members serve requests; by default, all members. */
  async ready(members: readonly EtcdMember[] = this.#members): Promise<void> {
    for (const member of members) {
      await poll(async () => {
        if (member.process?.exitCode !== null) throw new Error(`etcd ${member.name} ended`);
        return this.#responds(member);
      });
    }
  }

  /** Runs etcdctl. Resolves with its output. */
  async ctl(args: readonly string[], members: readonly EtcdMember[] = this.#members): Promise<string> {
    const { scheme = 'http', ctlArgs = [] } = this.#options;
    const endpoints = members.map(({ endpoint }) => `${scheme}://${endpoint}`).join(',');
    const env = { PATH: process.env['PATH'], ETCDCTL_API: '3' };
    // Some commands of etcdctl wait forever for a member that does not respond, so they get a timeout.
    const { stdout } = await run('etcdctl', [`--endpoints=${endpoints}`, ...ctlArgs, ...args], {
      env,
      timeout: testPatienceMs(30_000),
    });
    return stdout;
  }

  async leader(): Promise<EtcdMember> {
    return poll(async () => {
      for (const member of this.#members) {
        // This type has only those fields of the response that are used here.
        const status = (await call(member, 'maintenance/status', {}).catch(() => ({}))) as {
          leader?: string;
          header?: { member_id: string };
        };
        if (status.leader !== undefined && status.leader === status.header?.member_id) return member;
      }
      return undefined;
    });
  }

  /** Isolates members from the others until {@link heal} is called. Clients can still connect to them. */
  async isolate(...isolated: readonly EtcdMember[]): Promise<void> {
    const ids = await this.#ids();
    for (const member of this.#members) {
      const { proxy } = member;
      if (!proxy) throw new TypeError('the members have no proxies');
      const others = this.#members.filter((other) => isolated.includes(other) !== isolated.includes(member));
      const cut = new Set(others.map(({ name }) => ids.get(name)));
      proxy.isCut = (from) => from === undefined || cut.has(from);
      proxy.cut();
    }
  }

  /** Ends all isolations and delays. */
  heal(): void {
    this.slowDown(() => 0);
    for (const { proxy } of this.#members) if (proxy) proxy.isCut = () => false;
  }

  slowDown(delayMs: () => number): void {
    for (const { proxy } of this.#members) if (proxy) proxy.delayMs = delayMs;
  }

  /**
   * Kills a member with SIGKILL, and resolves when its process has ended. Does nothing for the member of the cluster
   * that all test files share, because the process of that member is not known here.
   */
  async kill(member: EtcdMember): Promise<void> {
    const child = member.process;
    member.process = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Replaces a member and its data by a new member with another address. */
  async replace(member: EtcdMember): Promise<EtcdMember> {
    const id = (await this.#ids()).get(member.name) ?? '';
    const others = this.#members.filter((each) => each !== member);
    await this.kill(member);
    // The cluster refuses the removal as "unhealthy" until the other members have been connected for five seconds, so
    // `#reconfigure` repeats the command until it succeeds.
    await this.#reconfigure(['member', 'remove', id], others);
    await member.proxy?.close();
    this.#generation += 1;
    const next = await this.#member(`${member.name}-${this.#generation}`);
    await this.#reconfigure(['member', 'add', next.name, `--peer-urls=${peerUrlOf(next)}`], others);
    this.#members = [...others, next];
    this.start(next, ['--initial-cluster', this.#peers(), '--initial-cluster-state', 'existing']);
    await this.ready([next]);
    return next;
  }

  /** Saves a snapshot, and returns the path of its file. */
  async snapshot(): Promise<string> {
    this.#generation += 1;
    const file = join(this.#folder, `snapshot-${this.#generation}.db`);
    await this.ctl(['snapshot', 'save', file], [await this.leader()]);
    return file;
  }

  /**
   * Starts all members again, at the same addresses, with the data of a snapshot. `token` is the token of the new
   * cluster. Default: the token of the first start.
   */
  async restore(file: string, token?: string): Promise<void> {
    for (const member of this.#members) await this.kill(member);
    for (const member of this.#members) {
      await rm(this.#dataOf(member), { recursive: true });
      const args = ['--name', member.name, '--data-dir', this.#dataOf(member), '--initial-cluster', this.#peers()];
      const own = ['--initial-advertise-peer-urls', peerUrlOf(member)];
      await this.ctl([
        'snapshot',
        'restore',
        file,
        ...args,
        ...own,
        ...(token ? ['--initial-cluster-token', token] : []),
      ]);
    }
    for (const member of this.#members) this.start(member);
    await this.ready();
  }

  async stop(): Promise<void> {
    for (const member of this.#members) {
      await this.kill(member);
      await member.proxy?.close();
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Returns true when a member can read the state of the majority. */
  async #responds(member: EtcdMember): Promise<boolean> {
    // A member with TLS is read with etcdctl, because only etcdctl has the certificates that this member requires.
    const read =
      this.#options.scheme === 'https'
        ? this.ctl(['get', 'probe', '--command-timeout=2s'], [member])
        : call(member, 'kv/range', { key: 'cHJvYmU=' });
    return read.then(
      () => true,
      () => false,
    );
  }

  /** Repeats a change of the members until the cluster accepts it. */
  async #reconfigure(args: readonly string[], members: readonly EtcdMember[]): Promise<void> {
    await poll(() =>
      this.ctl(args, members).then(
        () => true,
        () => false,
      ),
    );
  }

  async #member(name: string): Promise<EtcdMember> {
    const [client, peerPort] = [await freePort(), await freePort()];
    const proxy = this.#options.proxied ? await PeerProxy.start(peerPort) : undefined;
    return { name, endpoint: `127.0.0.1:${client}`, peerPort, proxy, process: undefined };
  }

  #peers(): string {
    return this.#members.map((member) => `${member.name}=${peerUrlOf(member)}`).join(',');
  }

  #dataOf({ name }: EtcdMember): string {
    return join(this.#folder, name);
  }

  /** Returns the ids of the members, in hexadecimal, by their names. */
  async #ids(): Promise<Map<string, string>> {
    const lines = (await poll(() => this.ctl(['member', 'list']).catch(() => undefined))).trim().split('\n');
    return new Map(lines.map((line) => line.split(', ')).map(([id = '', , name = '']) => [name, id]));
  }
}

/** Calls a method of etcd with JSON over HTTP. This takes a hundredth of the CPU time of etcdctl. */
async function call({ endpoint }: EtcdMember, method: string, body: object): Promise<unknown> {
  const request = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(2_000) };
  const response = await fetch(`http://${endpoint}/v3/${method}`, request);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

let isInstalled: Promise<boolean> | undefined;

/** Returns true when etcd and etcdctl are installed. */
export function hasEtcd(): Promise<boolean> {
  isInstalled ??= findEtcd();
  return isInstalled;
}

async function findEtcd(): Promise<boolean> {
  try {
    await Promise.all([run('etcd', ['--version']), run('etcdctl', ['version'])]);
    return true;
  } catch {
    return false;
  }
}

/** The reason why tests that need etcd are skipped when it is not installed. */
export const missingEtcd = 'there is no etcd: install etcd-server and etcd-client of Debian, or etcd and etcdctl';

function peerUrlOf({ proxy, peerPort }: EtcdMember): string {
  return `http://127.0.0.1:${proxy?.port ?? peerPort}`;
}

/**
 * Repeats attempts until one has a result other than false or undefined. Rejects when an attempt rejects, and after
 * half a minute, or later on a busy machine.
 */
async function poll<Result>(attempt: () => Promise<Result | undefined | false>): Promise<Result> {
  const untilMs = performance.now() + testPatienceMs(30_000);
  for (;;) {
    const result = await attempt();
    if (result !== undefined && result !== false) return result;
    if (performance.now() > untilMs) throw new Error('etcd does not become ready');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

let taken = randomInt(ports.count);

async function freePort(): Promise<number> {
  taken = (taken + 1) % ports.count;
  const port = ports.first + taken;
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return freePort();
  }
  probe.close();
  await once(probe, 'close');
  return port;
}
