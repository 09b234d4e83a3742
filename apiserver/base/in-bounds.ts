/**
 * Returns an item of a list whose index was checked before. The caller reads the list, so that V8 optimises each
 * access for the kind of list at that place.
 * @throws RangeError when there is no item, which is a bug
 */
export function inBounds<T>(item: T | undefined): T {
  if (item === undefined) throw new RangeError('there is no item at this index');
  return item;
}
