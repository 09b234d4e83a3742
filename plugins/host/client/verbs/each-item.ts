import { CommandError } from '../command-error.ts';
import { ServerRefusal } from '../object-server.ts';
import { note } from '../output/print.ts';

/**
 * Does the work for each item. A refusal is printed, and does not stop the work for the other items. Resolves with the
 * exit code. Rejects with the refusal if there is only one item, or if all items would be refused in the same way.
 * `nameOf` returns the prefix of a printed refusal.
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
