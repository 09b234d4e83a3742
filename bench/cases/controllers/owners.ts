import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { median } from '../../measure/figures.ts';
import type { Reconciled } from '../../children/owners.ts';
import type { Row } from '../../measure/result-table.ts';

const childrenOfOne = 10;
const unchangedRuns = 20_000;
const mostUs = 30;

const manyParents = 100_000;
const childrenOfMany = 3;
const mostSeconds = 60;
const mostGrowth = 1.2;

/** Measures a controller's run with ten dependents that need no change, and two starts with 100,000 owners. */
export async function owners({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  return [await unchanged(settings.rounds), ...(await manyOwners(folder))];
}

async function unchanged(rounds: number): Promise<Row> {
  await using child = new Child('owners');
  await child.call('serve', 'memory:');
  await child.call('fill', { count: 1, size: childrenOfOne });
  await child.call('reconcileAll', 1);
  const costs: number[] = [];
  for (let round = 0; round < rounds; round += 1) costs.push(await child.call<number>('runUnchanged', unchangedRuns));
  const us = median(costs);
  return {
    name: `run with ${childrenOfOne.toString()} dependents that need no changes`,
    target: { text: `${us.toFixed(1)} us <= ${mostUs.toString()} us`, isMet: us <= mostUs },
    note: 'processor time of the whole process per run; the server is in the same process, and no request is sent',
  };
}

/**
 * Measures two starts with many owners. In the first one, the controller creates the dependents; in the second one,
 * they are already there.
 */
async function manyOwners(folder: string): Promise<readonly Row[]> {
  await using child = new Child('owners', ['--expose-gc', '--max-old-space-size=8192']);
  await child.call('serve', `sqlite:${join(folder, 'owners.db')}`);
  await child.call('fill', { count: manyParents, size: childrenOfMany });
  const first = await child.call<Reconciled>('reconcileAll', manyParents);
  const objectsAlone = await child.call<number>('heldBytes');
  const again = await child.call<Reconciled>('reconcileAll', manyParents);
  const least = await leastCost(folder);
  const growth = again.heldBytes / objectsAlone;
  const name = `start, ${manyParents.toLocaleString('en-US')} owners of ${childrenOfMany.toString()} dependents each`;
  const row = (what: string, { ms, cpuMs }: Reconciled): Row => ({
    name: `${name}, ${what}`,
    target: {
      text: `${seconds(ms)} s <= ${mostSeconds.toString()} s`,
      isMet: ms <= mostSeconds * 1000,
    },
    note: `${seconds(cpuMs)} s of processor time`,
  });
  return [
    row('time of the first start, which creates the dependents', first),
    row('time of the second start, when all dependents already exist', again),
    {
      name: `${name}, the least possible time`,
      note: `${seconds(least.ms)} s, ${seconds(least.cpuMs)} s of processor time to create all these objects without a controller`,
    },
    {
      name: `${name}, memory`,
      target: { text: `${growth.toFixed(2)} x <= ${mostGrowth.toString()} x`, isMet: growth <= mostGrowth },
      note: 'heapUsed + external after garbage collection: with the running controller, divided by the value without a controller',
    },
  ];
}

/**
 * Measures the least cost of the owners and their dependents: a client creates the owners, and then the dependents of
 * 256 owners at a time, without a controller.
 */
async function leastCost(folder: string): Promise<Omit<Reconciled, 'heldBytes'>> {
  await using child = new Child('owners', ['--max-old-space-size=8192']);
  await child.call('serve', `sqlite:${join(folder, 'least.db')}`);
  return await child.call('createAll', { count: manyParents, size: childrenOfMany });
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
