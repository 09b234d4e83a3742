// Starts one member of etcd for a whole run, because a start takes as much CPU time as many tests. HOMEOSTAT_TEST_ETCD
// has its address. Tests share it if they neither stop members nor compact; each uses its own key prefix. Without this
// hook (--no-config), each test file starts its own etcd.
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
