import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { createClient } from '@homeostat/controller-runtime';
import { createFaultInjectingFetch } from '@homeostat/controller-runtime/testing';

// The contracts belong to the package, and not to its public face: they are found where they were compiled.
type ClientContract = typeof import('../controller-runtime/client/client.contract.ts');
type InformerContract = typeof import('../controller-runtime/cache/informer.contract.ts');
const compiled = new URL('../../controller-runtime/dist/', import.meta.url);
const { describeClientContract } = (await import(
  new URL('client/client.contract.js', compiled).href
)) as ClientContract;
const { describeInformerContract } = (await import(
  new URL('cache/informer.contract.js', compiled).href
)) as InformerContract;

type Open = Parameters<ClientContract['describeClientContract']>[1];

async function serve(model: Parameters<Open>[0]): Promise<ApiServer> {
  const server = await startApiServer({ database: 'memory:', port: 0 });
  server.schemeManager.register(model);
  return server;
}

const overHttp: Open = async (model) => {
  const server = await serve(model);
  const faults = createFaultInjectingFetch();
  return {
    client: createClient(server.url, { fetch: faults.fetch }),
    interrupt: () => void faults.cutAll(),
    close: () => server.stop(),
  };
};

const inProcess: Open = async (model) => {
  const server = await serve(model);
  return { client: server.client, close: () => server.stop() };
};

describeClientContract('over HTTP', overHttp);
describeClientContract('in process', inProcess);
describeInformerContract('over HTTP', overHttp);
describeInformerContract('in process', inProcess);
