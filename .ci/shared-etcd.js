// One member of etcd for a whole run. Tests that neither stop members nor compact use the one that HOMEOSTAT_TEST_ETCD
// names, with prefixes of their own: to start a cluster takes as much CPU time as many of these tests. Without it
// (--no-config), each file starts its own.
const file = new URL('../apiserver/dist/store/etcd/etcd-cluster.test-support.js', import.meta.url);

let etcd;

export async function mochaGlobalSetup() {
  const { EtcdCluster, hasEtcd } = await import(file.href);
  if (!(await hasEtcd())) return;
  etcd = await EtcdCluster.start({ size: 1 });
  process.env.HOMEOSTAT_TEST_ETCD = etcd.members[0].endpoint;
}

export async function mochaGlobalTeardown() {
  await etcd?.stop();
}
