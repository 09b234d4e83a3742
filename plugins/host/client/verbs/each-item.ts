import { CommandError } from '../command-error.ts';
import { ServerRefusal } from '../object-server.ts';
import { note } from '../output/print.ts';

/**
 * Calls `work` for each item. If `work` fails for one item, such as by a refusal of the server, prints the error and
 * continues with the next item. Resolves with the exit code. Rejects with the error if there is only one item, or if
 * the error would be the same for all items. `nameOf` returns the prefix of a printed error.
 */
export async function eachItem<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  nameOf: (item: Item) => string = () => '',
): Promise<number> {
  let code = 0;
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      if (items.length === 1 || !isAboutItem(error)) throw error;
      const name = nameOf(item);
      note(`${name}${name === '' ? '' : ': '}${error.message}`);
      code = 1;
    }
  }
  return code;
}

function isAboutItem(error: unknown): error is Error {
  if (error instanceof CommandError) return error.exitCode === 1;
  return error instanceof ServerRefusal && error.code !== 401;
}
