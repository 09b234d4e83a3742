import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, createServer, request as httpsRequest } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { median } from '../figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../http-load.ts';
import { creations, startedServer } from '../person-server.ts';
import type { Row } from '../result-table.ts';

/** The processor time that a validating webhook may add to a create, in milliseconds. */
const mostCpuMs = 0.3;

const connections = 8;

/** What does a validating webhook add to a create, beyond its own round trip? The webhook runs in this process. */
export async function webhooks({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { seconds, rounds } = settings;
  const certificate = await certificateIn(join(folder, 'tls'));
  await using server = new Child('api-server');
  const url = await startedServer(server, { database: 'memory:', port: 0 });
  const hook = await startHook(certificate.pem);
  const create = creations('hooked');
  let created = 0;
  const request = (): string => {
    created += 1;
    return create();
  };
  const costOf = async (): Promise<number> => {
    const before = { cpuMs: server.cpuMs(), created };
    await loadHttp({ url, connections, seconds, request });
    return (server.cpuMs() - before.cpuMs) / (created - before.created);
  };
  try {
    await costOf();
    const plain = await repeated(rounds, costOf);
    await configure(url, { hook, ca: certificate.ca });
    await costOf();
    const hooked = await repeated(rounds, costOf);
    const added = median(hooked) - median(plain);
    const roundTripMs = await roundTrip(hook, certificate.ca);
    const figures = `${median(plain).toFixed(3)} ms without, ${median(hooked).toFixed(3)} ms with it`;
    return [
      {
        name: 'webhook: processor time that it adds to a create',
        target: { text: `<= ${mostCpuMs.toString()} ms`, isMet: added <= mostCpuMs },
        note: `${added.toFixed(3)} ms (${figures}); a round trip to it takes ${roundTripMs.toFixed(2)} ms here`,
      },
    ];
  } finally {
    await server.call('stop');
    hook.closeAllConnections();
    hook.close();
  }
}

async function repeated(rounds: number, measure: () => Promise<number>): Promise<readonly number[]> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await measure());
  return values;
}

/** The certificate that a server makes in a folder. */
async function certificateIn(directory: string): Promise<{ readonly pem: string; readonly ca: string }> {
  await using server = new Child('api-server');
  await server.call('startWith', { database: 'memory:', port: 0, tls: { directory } });
  await server.call('stop');
  const [pem, ca] = await Promise.all(
    ['server.pem', 'ca.crt'].map(async (name) => readFile(join(directory, name), 'utf8')),
  );
  return { pem: pem ?? '', ca: ca ?? '' };
}

/** A webhook that allows everything. */
async function startHook(pem: string): Promise<Server> {
  const server = createServer({ key: pem, cert: pem }, (asked, response) => void allow(asked, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function allow(asked: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(asked);
  const { apiVersion, kind, request: sent } = JSON.parse(body) as Record<string, { readonly uid: string }>;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ apiVersion, kind, response: { uid: sent?.uid, allowed: true } }));
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function configure(url: string, { hook, ca }: { readonly hook: Server; readonly ca: string }): Promise<void> {
  const webhook = {
    name: 'allow.people.example.com',
    clientConfig: {
      url: `https://127.0.0.1:${portOf(hook).toString()}/`,
      caBundle: Buffer.from(ca).toString('base64'),
    },
    rules: [{ operations: ['CREATE'], apiGroups: ['*'], apiVersions: ['*'], resources: ['persons'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  const body = JSON.stringify({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'allow' },
    webhooks: [webhook],
  });
  using connection = await HttpConnection.connect(url);
  await connection.send(
    formatRequest('POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', body),
  );
}

/** The median of calls on one connection. */
async function roundTrip(hook: Server, ca: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  const timesMs: number[] = [];
  for (let call = 0; call < 100; call += 1) {
    const since = performance.now();
    const sent = httpsRequest({ host: '127.0.0.1', port: portOf(hook), method: 'POST', agent });
    sent.end(JSON.stringify({ request: { uid: '1' } }));
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
    await text(response);
    timesMs.push(performance.now() - since);
  }
  agent.destroy();
  return median(timesMs);
}
