/**
 * Returns its argument, an item that the caller has read from a list at a checked index. The caller itself reads the
 * list, so that V8 optimises each read for the lists that occur at that place in the code.
 * @throws RangeError when there is no item, which is a bug
 */
export function inBounds<T>(item: T | undefined): T {
  if (item === undefined) throw new RangeError('there is no item at this index');
  return item;
}
