import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { getObjects } from './get-command.ts';
import { readTarget } from '../object-arguments.ts';
import { serverObject } from '../server-object.ts';

/** `homeostat events`: prints events, the oldest first by default; with `--for TYPE/NAME`, only those of one object. */
export async function listEvents(command: ClientCommand): Promise<number> {
  const { flags, args } = command;
  if (args.length > 0) throw new CommandError('events takes no arguments: name an object by --for TYPE/NAME', 2);
  const object = textFlag(flags, 'for');
  const given = textFlag(flags, 'field-selector');
  const selectors = [
    ...(given === undefined ? [] : [given]),
    ...(object === undefined ? [] : [await selectorOf(command, object)]),
  ];
  const selection = selectors.length === 0 ? {} : { 'field-selector': selectors.join(',') };
  return getObjects({
    ...command,
    args: ['events'],
    flags: { ...flags, sort: textFlag(flags, 'sort') ?? 'metadata.creationTimestamp,asc', ...selection },
  });
}

async function selectorOf(command: ClientCommand, argument: string): Promise<string> {
  const { path } = await readTarget({ ...command, args: [argument], flags: {} });
  const { metadata } = serverObject(await command.server.send('GET', path));
  return `involvedObject.uid=${metadata.uid ?? ''}`;
}
