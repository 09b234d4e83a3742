import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { createClient } from '@homeostat/controller-runtime';
import { createFaultInjectingFetch } from '@homeostat/controller-runtime/testing';

// The contract tests are in the package, but not among its exports, so they are imported by their compiled paths.
type ClientContract = typeof import('../controller-runtime/client/client.contract.ts');
type PreconditionsContract = typeof import('../controller-runtime/client/client-preconditions.contract.ts');
type InformerContract = typeof import('../controller-runtime/cache/informer.contract.ts');
const compiled = new URL('../../controller-runtime/dist/', import.meta.url);
const { describeClientContract } = (await import(
  new URL('client/client.contract.js', compiled).href
)) as ClientContract;
const { describePreconditions } = (await import(
  new URL('client/client-preconditions.contract.js', compiled).href
)) as PreconditionsContract;
const { describeInformerContract } = (await import(
  new URL('cache/informer.contract.js', compiled).href
)) as InformerContract;

type Open = Parameters<ClientContract['describeClientContract']>[1];
type Opened = Awaited<ReturnType<Open>>;

async function start(models: Parameters<Open>[0]): Promise<Pick<Opened, 'serve' | 'withdraw'> & { server: ApiServer }> {
  const server = await startApiServer({ database: 'memory:', port: 0 });
  const serve: Opened['serve'] = async (model) => {
    server.schemeManager.register(model);
    await server.whenReady(model);
  };
  for (const model of models) await serve(model);
  return { server, serve, withdraw: (model) => server.schemeManager.unregister(model, serviceOwner) };
}

const overHttp: Open = async (models) => {
  const { server, ...kinds } = await start(models);
  const faults = createFaultInjectingFetch();
  return {
    ...kinds,
    // With this random value, all delays with jitter are as short as possible.
    client: createClient(server.url, { fetch: faults.fetch, random: () => 0 }),
    interrupt: () => void faults.cutAll(),
    close: () => server.stop(),
  };
};

const inProcess: Open = async (models) => {
  const { server, ...kinds } = await start(models);
  return { ...kinds, client: server.client, close: () => server.stop() };
};

describeClientContract('over HTTP', overHttp);
describeClientContract('in process', inProcess);
describePreconditions('over HTTP', overHttp);
describePreconditions('in process', inProcess);
describeInformerContract('over HTTP', overHttp);
describeInformerContract('in process', inProcess);
