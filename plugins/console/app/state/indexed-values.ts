import { shownAs, valueAt } from '../base/json.ts';
import { parseField } from '../base/field-path.ts';
import { pathOf } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import { objectsOf } from './plugins.ts';
import { api } from './session.ts';

/** The number of objects that are read from each end of the sorted list, for suggestions. */
const readAtEachEnd = 100;

/** The maximum length of a suggested value, in characters. */
const maxLength = 80;

/**
 * Returns some values of an indexed field: those of the first and of the last objects of the kind, sorted by this
 * field. The values are sorted as texts, without duplicates and without long ones.
 */
export async function someValuesOf(resource: Resource, field: string): Promise<readonly string[]> {
  const ends = await Promise.all(
    ['asc', 'desc'].map(async (direction) =>
      objectsOf(await api.get(pathOf(resource), { sort: `${field},${direction}`, limit: readAtEachEnd })),
    ),
  );
  const found = ends.flat().map((object) => shownAs(valueAt(object, parseField(field)) ?? ''));
  return [...new Set(found)].filter((value) => value !== '' && value.length <= maxLength).sort();
}
