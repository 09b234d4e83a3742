import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Synchronisation } from '../../children/informer.ts';
import type { Figures } from '../../measure/figures.ts';
import { median } from '../../measure/figures.ts';
import { personsPath, threeIndexes } from '../../load/person.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

const mostObjects = 10_000;
const mostMs = 1_000;
/** The target: the memory of an informer's cache is at most this many times as large as the JSON of its objects. */
const mostFactor = 2;

/**
 * Measures the time until the handler of an informer over HTTP has received every object, and the memory of the
 * informer's cache.
 */
export async function informer({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const count = Math.min(settings.objects, mostObjects);
  await using server = new Child('api-server');
  const url = await server.call<string>('start', `sqlite:${join(folder, 'informer.db')}`);
  await server.call('register', threeIndexes);
  await server.call('fill', { count });
  await using limit = new Child('informer');
  const factors: number[] = [];
  const bytesEach: number[] = [];
  const found = await alternate(settings.rounds, {
    ours: async () => {
      const { ms, objects, jsonBytes, heldBytes } = await synchroniseOnce(url);
      if (objects !== count)
        throw new Error(`the handler received ${objects.toString()} of ${count.toString()} objects`);
      factors.push(heldBytes / jsonBytes);
      bytesEach.push(jsonBytes / objects);
      return figuresOf(count, ms);
    },
    limit: async () => figuresOf(count, await limit.call<number>('parsePages', url + personsPath)),
  });
  const factor = median(factors);
  return [
    {
      name: `informer, ${count.toLocaleString('en-US')} objects`,
      ...found,
      target: { text: `<= ${mostMs.toString()} ms`, isMet: found.ours.p50Ms <= mostMs },
      note: 'p50 is the time from the start of the informer until all objects have arrived, in a new process',
    },
    {
      name: 'informer, memory of an object',
      target: { text: `<= ${mostFactor.toString()} x its JSON: ${factor.toFixed(2)} x`, isMet: factor <= mostFactor },
      note: `growth of heapUsed + external, after gc; the JSON of an object has ${(median(bytesEach) / 1024).toFixed(2)} KB`,
    },
  ];
}

/**
 * Runs the informer in a new process, so that results of earlier rounds, such as compiled code, do not change the
 * figures.
 */
async function synchroniseOnce(url: string): Promise<Synchronisation> {
  await using child = new Child('informer', ['--expose-gc']);
  const found = await child.call<Synchronisation>('synchronise', url);
  await child.call('stop');
  return found;
}

function figuresOf(count: number, ms: number): Figures {
  return { opsPerSecond: (count / ms) * 1000, p50Ms: ms };
}
