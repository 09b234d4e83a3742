import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, createServer, request as httpsRequest } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import type { Posting } from '../children/poster.ts';
import { median } from '../figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../http-load.ts';
import { creations, startedServer } from '../person-server.ts';
import type { Row } from '../result-table.ts';

/** The processor time that a validating webhook may add to a create besides its round trip, in milliseconds. */
const mostCpuMs = 0.3;

const connections = 8;

/** What does a validating webhook add to a create, beyond its own round trip? The webhook runs in this process. */
export async function webhooks({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const certificate = await certificateIn(join(folder, 'tls'));
  await using plain = new Child('api-server');
  await using hooked = new Child('api-server');
  await using poster = new Child('poster');
  const plainUrl = await startedServer(plain, { database: 'memory:', port: 0 });
  const hookedUrl = await startedServer(hooked, { database: 'memory:', port: 0 });
  const hook = await Hook.start(certificate);
  try {
    await configure(hookedUrl, hook);
    const creating = { ...settings, connections };
    const { seconds } = settings;
    const cost = await inTurns(settings.rounds, {
      plain: creator(plain, { ...creating, url: plainUrl, prefix: 'plain' }),
      hooked: creator(hooked, { ...creating, url: hookedUrl, prefix: 'hooked' }),
      byHand: async () => {
        const { url, ca, lastBody: body } = hook;
        const beforeMs = poster.cpuMs();
        const count = await poster.call<number>('post', { url, ca, body, connections, seconds } satisfies Posting);
        return (poster.cpuMs() - beforeMs) / count;
      },
    });
    const added = cost.hooked - cost.plain;
    const beyond = added - cost.byHand;
    const ms = (value: number): string => `${value.toFixed(3)} ms`;
    return [
      {
        name: 'webhook: processor time that it adds to a create, besides a POST',
        target: { text: `<= ${mostCpuMs.toString()} ms`, isMet: beyond <= mostCpuMs },
        note: `${ms(beyond)}: ${ms(cost.plain)} without it, ${ms(cost.hooked)} with it, so ${ms(added)} in all`,
      },
      {
        name: 'webhook: processor time of the same POST by hand',
        note: `${ms(cost.byHand)}, with node:https on kept connections; one at a time takes ${ms(await roundTrip(hook))}`,
      },
    ];
  } finally {
    await Promise.all([plain.call('stop'), hooked.call('stop')]);
    hook.stop();
  }
}

interface Creating {
  readonly url: string;
  readonly prefix: string;
  readonly connections: number;
  readonly seconds: number;
}

/** Returns a round of creations, which results in the processor time of each, in milliseconds. */
function creator(server: Child, { url, prefix, connections: many, seconds }: Creating): () => Promise<number> {
  const create = creations(prefix);
  return async () => {
    let created = 0;
    const request = (): string => {
      created += 1;
      return create();
    };
    const beforeMs = server.cpuMs();
    await loadHttp({ url, connections: many, seconds, request });
    return (server.cpuMs() - beforeMs) / created;
  };
}

/** The median of each contestant's rounds. They take turns, and their first round does not count. */
async function inTurns<Name extends string>(
  rounds: number,
  contestants: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Readonly<Record<Name, number>>> {
  const found = Object.entries<() => Promise<number>>(contestants).map(([name, run]) => ({
    name,
    run,
    costs: [] as number[],
  }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { run, costs } of found) {
      const cost = await run();
      if (round > 0) costs.push(cost);
    }
  }
  return Object.fromEntries(found.map(({ name, costs }) => [name, median(costs)])) as Record<Name, number>;
}

interface Certificate {
  /** Certificate and key. */
  readonly pem: string;
  readonly ca: string;
}

/** The certificate that a server makes in a folder. */
async function certificateIn(directory: string): Promise<Certificate> {
  await using server = new Child('api-server');
  await server.call('startWith', { database: 'memory:', port: 0, tls: { directory } });
  await server.call('stop');
  const [pem, ca] = await Promise.all(
    ['server.pem', 'ca.crt'].map(async (name) => readFile(join(directory, name), 'utf8')),
  );
  return { pem: pem ?? '', ca: ca ?? '' };
}

/** A webhook that allows everything. */
class Hook {
  readonly ca: string;
  readonly url: string;
  lastBody = '{}';
  readonly #server: Server;

  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.ca = ca;
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    this.url = `https://127.0.0.1:${port.toString()}/`;
    server.on('request', (asked, response) => void this.#allow(asked, response));
  }

  static async start({ pem, ca }: Certificate): Promise<Hook> {
    const server = createServer({ key: pem, cert: pem });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Hook(server, ca);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #allow(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    this.lastBody = await text(asked);
    const { apiVersion, kind, request: sent } = JSON.parse(this.lastBody) as Record<string, { readonly uid: string }>;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: sent?.uid, allowed: true } }));
  }
}

async function configure(url: string, hook: Hook): Promise<void> {
  const webhook = {
    name: 'allow.people.example.com',
    clientConfig: { url: hook.url, caBundle: Buffer.from(hook.ca).toString('base64') },
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

/** The median of calls on one connection, in milliseconds. */
async function roundTrip({ url, ca }: Hook): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  const timesMs: number[] = [];
  for (let call = 0; call < 100; call += 1) {
    const since = performance.now();
    const sent = httpsRequest(url, { method: 'POST', agent });
    sent.end(JSON.stringify({ request: { uid: '1' } }));
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
    await text(response);
    timesMs.push(performance.now() - since);
  }
  agent.destroy();
  return median(timesMs);
}
