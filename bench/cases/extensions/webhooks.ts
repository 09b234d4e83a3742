import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Posting } from '../../children/poster.ts';
import { conversionRows } from './conversion-rows.ts';
import { median } from '../../measure/figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../../load/http-load.ts';
import { creations, startedServer } from '../../load/person-server.ts';
import type { Row } from '../../measure/result-table.ts';
import { certificateIn, WebhookServer } from '../../load/webhook-server.ts';

/**
 * The maximum processor time, in milliseconds, that a validating webhook may add to a create. The processor time of the
 * request to the webhook is not counted.
 */
const mostCpuMs = 0.3;

const connections = 8;

/**
 * Measures the processor time that a validating webhook adds to a create. The processor time of the request to the
 * webhook is subtracted. Also measures conversions. The webhooks run in this process.
 */
export async function webhooks({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const certificate = await certificateIn(join(folder, 'tls'));
  await using plain = new Child('api-server');
  await using hooked = new Child('api-server');
  await using poster = new Child('poster');
  const plainUrl = await startedServer(plain, { database: 'memory:', port: 0 });
  const hookedUrl = await startedServer(hooked, { database: 'memory:', port: 0 });
  const hook = await WebhookServer.start(certificate, () => ({ allowed: true }));
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
        name: 'webhook: processor time added to a create, minus the time of the request to the webhook',
        target: { text: `<= ${mostCpuMs.toString()} ms`, isMet: beyond <= mostCpuMs },
        note: `a create takes ${ms(cost.plain)} without the webhook and ${ms(cost.hooked)} with it; the difference is ${ms(added)}; the request to the webhook takes ${ms(cost.byHand)} of the difference, and ${ms(beyond)} remain`,
      },
      {
        name: 'webhook: processor time of a client that sends the request to the webhook by hand',
        note: `${ms(cost.byHand)}, with node:https on reused connections; one request at a time takes ${ms(await roundTrip(hook))}`,
      },
      ...(await conversionRows(certificate, settings)),
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

/**
 * Returns a function that sends the creates of one round, and resolves with the processor time of one create in
 * milliseconds.
 */
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

/**
 * Calls each function of `contestants` once in each round, and returns the median of each function's results. The
 * results of the first round do not count.
 */
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

async function configure(url: string, hook: WebhookServer): Promise<void> {
  const webhook = {
    name: 'allow.people.example.com',
    clientConfig: hook.clientConfig,
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

/** Returns the median time of a call on a single connection, in milliseconds. */
async function roundTrip({ url, ca }: WebhookServer): Promise<number> {
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
