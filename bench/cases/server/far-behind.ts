import type { CaseContext } from '../../measure/case.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import { Child } from '../../processes/child.ts';
import type { Row } from '../../measure/result-table.ts';
import { StallMeter } from '../../measure/stall-meter.ts';

const watchRow = 'a watch from an old revision: each object has changed since';
const selectorRow =
  'a watch from an old revision, with a selector: each object has changed since, but the selector matches no change';
const listRow = 'a list at an old revision: each object has changed since';

const newline = 10;
const brace = 125;

/**
 * Measures the longest stall of a server while a client reads far back in the history: each object has changed once
 * since the revision of the client, and the history has all these changes.
 */
export async function measureFarBehind(objects: number, only: CaseContext['only']): Promise<readonly Row[]> {
  if (![watchRow, selectorRow, listRow].some((row) => row.includes(only))) return [];
  await using child = new Child('api-server', ['--expose-gc']);
  const url = `${await child.call<string>('start', 'memory:')}${personsPath}`;
  await child.call('register', threeIndexes);
  await child.call('fill', { count: objects });
  const early = await revisionOf(url);
  await child.call('updateEach', objects);
  const meter = new StallMeter(child, only);
  await meter.measureIdle();
  const watch = `${url}?watch=true&resourceVersion=${early.toString()}`;
  await meter.measure(watchRow, () => readEvents(watch, objects));
  await meter.measure(selectorRow, (attempt) => {
    const city = `late-${attempt.toString()}`;
    return Promise.all([readEvents(`${watch}&fieldSelector=spec.city=${city}`, 1), create(url, city)]);
  });
  // The server keeps the result of a list at an earlier revision, so each attempt has a revision of its own.
  await meter.measure(listRow, (attempt) => readList(url, early - attempt));
  return meter.rows.filter(({ target }) => target !== undefined);
}

async function revisionOf(url: string): Promise<number> {
  const list = (await (await get(`${url}?limit=1`)).json()) as {
    readonly metadata: { readonly resourceVersion: string };
  };
  return Number(list.metadata.resourceVersion);
}

async function readList(url: string, revision: number): Promise<void> {
  const response = await get(`${url}?limit=20&resourceVersion=${revision.toString()}&resourceVersionMatch=Exact`);
  await response.arrayBuffer();
}

/** Creates the only object of a city. */
async function create(url: string, city: string): Promise<void> {
  const body = JSON.stringify(newPerson({ name: city, number: 0, city }));
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (!response.ok) throw new Error(`a create failed with status ${response.status.toString()}`);
}

/** Reads a watch until this many events have arrived. A newline that does not follow a brace is a heartbeat. */
async function readEvents(url: string, count: number): Promise<void> {
  const { body } = await get(url);
  let [left, last] = [count, 0];
  for await (const chunk of body ?? []) {
    for (const byte of chunk) {
      if (byte === newline && last === brace) left -= 1;
      last = byte;
    }
    if (left <= 0) return;
  }
  throw new Error('the watch ended early');
}

async function get(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`a read failed with status ${response.status.toString()}`);
  return response;
}
