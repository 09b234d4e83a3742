import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { findController, readControllers } from '../observed-kinds.ts';
import { controllersTable, keysTable } from '../output/controller-screen.ts';
import { note, print } from '../output/print.ts';

/** `homeostat queue`: prints the queues of all controllers, or the keys in the queue of one controller. */
export async function showQueues({ server, args, flags }: ClientCommand): Promise<void> {
  const [name, ...more] = args;
  const output = textFlag(flags, 'output') ?? 'table';
  if (more.length > 0) throw new CommandError('queue takes at most one controller', 2);
  if (output !== 'table' && output !== 'json') throw new CommandError(`-o: must be table or json, not "${output}"`, 2);
  const { controllers } = await readControllers(server);
  const shown = name === undefined ? controllers : findController(controllers, name);
  if (output === 'json') return print(shown.map((each) => `${JSON.stringify(each)}\n`).join(''));
  if (shown.length === 0) return note('No controller has reported to this server.');
  await print(controllersTable(shown));
  if (name === undefined) return;
  const keys = keysTable(shown, Date.now());
  await print(keys === '' ? '\nThe queue is empty.\n' : `\n${keys}`);
  const omittedKeys = shown.reduce((sum, { status }) => sum + (status?.omittedKeys ?? 0), 0);
  if (omittedKeys > 0) note(`Further keys in the queue: ${omittedKeys}.`);
}
