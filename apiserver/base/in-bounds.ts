/**
 * Returns an item of a list whose index was checked before. The list is read by the caller, so that each place keeps
 * its own fast access to its own kind of list.
 * @throws RangeError when there is no item, which is a bug
 */
export function inBounds<T>(item: T | undefined): T {
  if (item === undefined) throw new RangeError('there is no item at this index');
  return item;
}
