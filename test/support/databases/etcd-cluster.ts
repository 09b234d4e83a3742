import type { ChildProcess } from 'node:child_process';

export interface EtcdMember {
  readonly process: ChildProcess | undefined;
}

/** A cluster of the etcd that is installed on this system. */
export interface EtcdCluster {
  readonly members: readonly EtcdMember[];
  /** Returns the URL of the database with the given prefix. */
  url(prefix: string): string;
  leader(): Promise<EtcdMember>;
  kill(member: EtcdMember): Promise<void>;
  /** Starts a member. `args` come after the arguments that all members get, and override those with the same name. */
  start(member: EtcdMember, args?: readonly string[]): void;
  /** Resolves when the members serve requests. */
  ready(members: readonly EtcdMember[]): Promise<void>;
  /** Disconnects a member from the others until `heal`. */
  isolate(member: EtcdMember): Promise<void>;
  slowDown(delayMs: () => number): void;
  heal(): void;
  /** Runs etcdctl; resolves with its output. */
  ctl(args: readonly string[]): Promise<string>;
  /** Saves a snapshot; returns its file. */
  snapshot(): Promise<string>;
  /** Starts all members again, with the data of a snapshot. */
  restore(file: string): Promise<void>;
  stop(): Promise<void>;
}

interface EtcdClusterOptions {
  /** Default 3. */
  readonly size?: number;
  /** True to connect the members through proxies. Default false. */
  readonly proxied?: boolean;
  /** Additional command-line arguments of each member. */
  readonly args?: readonly string[];
}

/** The test code of the API server, which its package does not export. */
interface ClusterModule {
  readonly EtcdCluster: {
    start(options: EtcdClusterOptions): Promise<EtcdCluster>;
    shared(): Promise<EtcdCluster>;
  };
  readonly hasEtcd: () => Promise<boolean>;
  readonly missingEtcd: string;
}

/** Starts a cluster; skips the tests if etcd is not installed. */
export async function startEtcd(context: Mocha.Context, options: EtcdClusterOptions): Promise<EtcdCluster> {
  const { EtcdCluster: Cluster } = await clusterModule(context);
  return Cluster.start(options);
}

/**
 * Returns the cluster that all tests share; skips the tests if etcd is not installed. Each database in it has its own
 * prefix.
 */
export async function sharedEtcd(context: Mocha.Context): Promise<EtcdCluster> {
  const { EtcdCluster: Cluster } = await clusterModule(context);
  return Cluster.shared();
}

async function clusterModule(context: Mocha.Context): Promise<ClusterModule> {
  const file = new URL('../../../../apiserver/dist/store/etcd/etcd-cluster.test-support.js', import.meta.url);
  const found = (await import(file.href)) as ClusterModule;
  return (await found.hasEtcd()) ? found : context.skipBecause(found.missingEtcd);
}
