import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import { fiveIndexes } from '../../load/person.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

const mostMs = 2_500;

/**
 * Measures the time from the registration of a model at a running server until the kind is served. The database has
 * many objects of this kind.
 */
export async function registration({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { rounds, objects } = settings;
  const file = join(folder, 'registration.db');
  await prepare(file, objects);
  await copyFile(file, `${file}.copy`);
  await using bare = new Child('bare-sqlite');
  await using server = new Child('api-server');
  await server.call('start', `sqlite:${file}`);
  const { ours, limit } = await alternate(rounds, {
    ours: async () => {
      const readyMs = await server.call<number>('register', fiveIndexes);
      await server.call('unregister');
      return { opsPerSecond: (objects / readyMs) * 1000, p50Ms: readyMs };
    },
    limit: () => bare.call<Figures>('scan', `${file}.copy`),
  });
  await server.call('stop');
  return [
    {
      name: `registration, ${objects.toLocaleString('en-US')} objects`,
      ours,
      limit,
      target: { text: `<= ${mostMs.toString()} ms`, isMet: ours.p50Ms <= mostMs },
      note: 'p50 is the time from the call of register until the objects are served; all rounds use one running server',
    },
  ];
}

async function prepare(file: string, count: number): Promise<void> {
  await using server = new Child('api-server');
  await server.call('start', `sqlite:${file}`);
  await server.call('register', []);
  await server.call('fill', { count });
  await server.call('stop');
}
