// The longest turn of the event loop during the server's most expensive requests.
import {
  applyDefinition,
  firstRequests,
  HostileProcess,
  largeRequests,
  listOfKind,
  listRequests,
} from '@homeostat/test';
import type { LargeRequest } from '@homeostat/test';
import type { CaseContext } from '../case.ts';
import type { Row } from '../result-table.ts';

/** The maximum time for which a request may hold the event loop. */
const maxStallMs = 50;

const idleMs = 2_000;

/**
 * The number of times that each request is sent. The shortest stall counts, since a full garbage collection, or cold
 * code, can lengthen any of them.
 */
const attempts = 3;

const largeLeaves = 8_800;
/** Leaves of a usual definition: the mean of the projects that a cluster usually has. */
const usualLeaves = 300;

type Work = () => Promise<unknown>;

class Stalls {
  readonly rows: Row[] = [];
  readonly #server: HostileProcess;
  #idleMs = 0;

  constructor(server: HostileProcess) {
    this.#server = server;
  }

  async measureIdle(): Promise<void> {
    await this.#server.call('takeLongestMs');
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    this.#idleMs = await this.#server.call('takeLongestMs');
    this.rows.push({ name: 'stall: idle', note: `${this.#idleMs.toFixed(1)} ms` });
  }

  /** Collects earlier garbage first. */
  async measure(name: string, work: Work): Promise<void> {
    this.#report(name, await this.#stallOf(work));
  }

  /** The shortest of several attempts, each after its own preparation. */
  async measureLeast(name: string, work: Work, before: (attempt: number) => Promise<unknown>): Promise<void> {
    let leastMs = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      await before(attempt);
      leastMs = Math.min(leastMs, await this.#stallOf(work));
    }
    this.#report(name, leastMs);
  }

  /** Each attempt with an object of its own. */
  async send({ name, before = () => [], request }: LargeRequest, object: string): Promise<void> {
    let attempted = object;
    await this.measureLeast(
      name,
      () => this.#server.send(request(attempted)),
      async (attempt) => {
        attempted = `${object}-${attempt.toString()}`;
        for (const each of before(attempted)) await this.#server.send(each);
      },
    );
  }

  async #stallOf(work: Work): Promise<number> {
    await this.#server.call('heldBytes');
    await this.#server.call('takeLongestMs');
    await work();
    return Math.max(0, (await this.#server.call('takeLongestMs')) - this.#idleMs);
  }

  /** Each row is also printed at once, because the whole takes minutes. */
  #report(name: string, stallMs: number): void {
    const text = `${stallMs.toFixed(0)} ms <= ${maxStallMs.toString()} ms`;
    console.error(`  ${name}: ${text}`);
    this.rows.push({ name: `stall: ${name}`, target: { text, isMet: stallMs <= maxStallMs } });
  }
}

async function isServed(server: HostileProcess, kind: string): Promise<void> {
  while ((await server.send(listOfKind(kind))).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function measureDefinitions(server: HostileProcess, measured: Stalls, definitions: number): Promise<void> {
  await measured.measure('a definition of 1.2 MB', async () => {
    await server.send(applyDefinition('Large', largeLeaves));
    await isServed(server, 'Large');
  });
  await measured.measure(`${definitions.toString()} definitions`, async () => {
    for (let number = 0; number < definitions; number += 1) {
      await server.send(applyDefinition(`Usual${number.toString()}`, usualLeaves));
    }
    await isServed(server, `Usual${(definitions - 1).toString()}`);
  });
  const openApi = { method: 'GET', path: '/openapi/v3' };
  const document = { method: 'GET', path: '/openapi/v3/apis/definitions.example.com/v1' };
  for (const { name, request } of [
    { name: '/openapi/v3 after a change', request: openApi },
    { name: 'its largest document', request: document },
  ]) {
    await server.send(applyDefinition('Usual0', usualLeaves + 50));
    await isServed(server, 'Usual0');
    await measured.measure(name, () => server.send(request));
  }
}

/** The longest stalls, minus the stall of an idle server. */
export async function stalls({ settings }: CaseContext): Promise<readonly Row[]> {
  const server = await HostileProcess.start();
  const measured = new Stalls(server);
  try {
    await measured.measureIdle();
    for (const [number, request] of largeRequests.entries()) await measured.send(request, `large-${number.toString()}`);
    await server.call('fill', settings.objects);
    for (const [number, request] of listRequests.entries()) await measured.send(request, `list-${number.toString()}`);
    const reindex = (): Promise<void> => server.call('reindex');
    await measured.measureLeast('indexes of all these objects', reindex, () => Promise.resolve());
    for (const { name, request } of firstRequests)
      await measured.measureLeast(name, () => server.send(request('first')), reindex);
    await measureDefinitions(server, measured, settings.definitions);
    return measured.rows;
  } finally {
    await server.stop();
  }
}
