import { nearestKey } from '../../api/index.ts';
import type { Wish } from '../definition/wish.ts';

/**
 * Returns the wishes in batches. The wishes that a wish names in `after` are in earlier batches. Throws TypeError for
 * two wishes with the same id, for an unknown id, and for wishes that wait for each other.
 */
export function wishOrder(wishes: readonly Wish[]): readonly (readonly Wish[])[] {
  const ids = new Set<string>();
  for (const { id } of wishes) {
    if (ids.has(id))
      throw new TypeError(`own: two wishes have the id ${JSON.stringify(id)}; give one of them another "id"`);
    ids.add(id);
  }
  if (wishes.every(({ after }) => after.length === 0)) return [wishes];
  for (const { id, after } of wishes) for (const other of after) checkKnown(ids, id, other);
  const batches: (readonly Wish[])[] = [];
  const placed = new Set<string>();
  let left = [...wishes];
  while (left.length > 0) {
    const batch = left.filter(({ after }) => after.every((other) => placed.has(other)));
    if (batch.length === 0) {
      throw new TypeError(`own: these wishes wait for each other: ${left.map(({ id }) => id).join(', ')}`);
    }
    batches.push(batch);
    for (const { id } of batch) placed.add(id);
    left = left.filter(({ id }) => !placed.has(id));
  }
  return batches;
}

function checkKnown(ids: ReadonlySet<string>, id: string, other: string): void {
  if (ids.has(other)) return;
  const near = nearestKey(other, [...ids]);
  const hint = near === undefined ? `the ids are ${[...ids].join(', ')}` : `did you mean "${near}"?`;
  throw new TypeError(`own: wish ${id} comes after ${JSON.stringify(other)}, but no wish has this id: ${hint}`);
}
