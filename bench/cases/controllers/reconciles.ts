import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import { threeIndexes } from '../../load/person.ts';
import { opsAtLeast, p99AtMost } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/** The number of writes per second, so small that writes do not overlap. */
const perSecond = 50;

/** The number of keys that are reconciled one after the other. */
const keys = 1_000;

/** The number of objects that are created while the initial ones are being reconciled. */
const writesDuringStart = 20;

interface WrittenFigures {
  readonly started: Figures;
  readonly answered: Figures;
  readonly beyond: Figures;
}

/** Measures the cost of a controller's run, and the time from a write to the run for the written object. */
export async function reconciles({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { rounds, seconds, writes, objects } = settings;
  const count = Math.ceil(perSecond * seconds);
  return [
    await runs({ rounds, count: writes * 10 }),
    await inProcess(join(folder, 'idle.db'), { rounds, count }),
    await overHttp(join(folder, 'http.db'), { rounds, count }),
    await duringStart(join(folder, 'start.db'), { rounds, objects }),
  ];
}

interface Rounds {
  readonly rounds: number;
  readonly count: number;
}

async function runs({ rounds, count }: Rounds): Promise<Row> {
  await using child = new Child('reconciler');
  await child.call('serve', 'memory:');
  await child.call('fill', keys);
  const found = await alternate(rounds, {
    ours: () => child.call<Figures>('run', count),
    limit: () => child.call<Figures>('callOnly', count),
  });
  return { name: 'reconciles that do nothing, in process', ...found, target: opsAtLeast(100_000, found.ours) };
}

async function inProcess(file: string, options: Rounds): Promise<Row> {
  await using child = new Child('reconciler');
  await child.call('serve', `sqlite:${file}`);
  return await writeAndWait(child, { ...options, where: 'in process', mostMs: 2 });
}

async function overHttp(file: string, options: Rounds): Promise<Row> {
  await using server = new Child('api-server');
  await using child = new Child('reconciler');
  const url = await server.call<string>('start', `sqlite:${file}`);
  await server.call('register', threeIndexes);
  await child.call('connect', url);
  return await writeAndWait(child, { ...options, where: 'over HTTP', mostMs: 10 });
}

interface Waiting extends Rounds {
  readonly where: string;
  readonly mostMs: number;
}

/**
 * Returns the row for the time from a write to its run. The limit is the time until the response to the write; the
 * target applies to the time after that.
 */
async function writeAndWait(child: Child, { rounds, count, where, mostMs }: Waiting): Promise<Row> {
  let round: WrittenFigures | undefined;
  const { ours, limit, beyond } = await alternate(rounds, {
    ours: async () => {
      round = await child.call<WrittenFigures>('writeAndWait', { count, perSecond });
      return round.started;
    },
    limit: async () => (round as WrittenFigures).answered,
    beyond: async () => (round as WrittenFigures).beyond,
  });
  const { text, isMet } = p99AtMost(mostMs, beyond);
  const note = `time between the response to the write and the start of the run: p50 ${beyond.p50Ms.toFixed(2)} ms, p99 ${beyond.p99Ms?.toFixed(2)} ms`;
  const name = `write to reconcile ${where}, ${perSecond}/s`;
  return { name, ours, limit, target: { text: `${text} after the response to the write`, isMet }, note };
}

async function duringStart(file: string, { rounds, objects }: { rounds: number; objects: number }): Promise<Row> {
  await using child = new Child('reconciler');
  await child.call('serve', `sqlite:${file}`);
  await child.call('fill', objects);
  let left = Number.POSITIVE_INFINITY;
  let limit: Figures | undefined;
  const found = await alternate(rounds, {
    ours: async () => {
      const round = await child.call<WrittenFigures & { left: number }>('writeDuringStart', writesDuringStart);
      left = Math.min(left, round.left);
      limit = round.answered;
      return round.started;
    },
    limit: () => Promise.resolve(limit as Figures),
  });
  const note = `in each round, at least ${left.toLocaleString('en-US')} of the initial objects were not reconciled yet when the last written object was`;
  const name = `write to reconcile, ${objects.toLocaleString('en-US')} objects at the start`;
  return { name, ...found, target: p99AtMost(50, found.ours), note };
}
