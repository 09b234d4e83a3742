import { objectLimits } from './body-limits.ts';
import { tooLarge } from './count-nodes.ts';

/**
 * Checks the number of items of a list whose items, or their keys, must be distinct.
 * @throws ApiError RequestEntityTooLarge
 */
export function checkItems(items: readonly unknown[]): void {
  const { maxFields } = objectLimits;
  if (items.length > maxFields) throw tooLarge(`a list has ${items.length} items, more than ${maxFields}`);
}
