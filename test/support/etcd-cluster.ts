import type * as clusterModule from '../../apiserver/store/etcd/etcd-cluster.test-support.ts';

export type EtcdCluster = clusterModule.EtcdCluster;

/** Starts a cluster; skips the tests without etcd. Default: three members, which reach each other through proxies. */
export async function startEtcd(
  context: Mocha.Context,
  options: clusterModule.EtcdClusterOptions = { proxied: true },
): Promise<EtcdCluster> {
  // The package has no public entry for its test code.
  const file = new URL('./store/etcd/etcd-cluster.test-support.js', import.meta.resolve('@homeostat/apiserver'));
  const { EtcdCluster: Cluster, hasEtcd, missingEtcd } = (await import(file.href)) as typeof clusterModule;
  return (await hasEtcd()) ? Cluster.start(options) : context.skipBecause(missingEtcd);
}
