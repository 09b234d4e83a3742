import type { Command } from 'commander';
import { readServer } from '../serve/read-server.ts';
import type { ClientSources } from './client-command.ts';
import { ObjectServer } from './object-server.ts';
import { collectionPath, ResourceNames } from './resource-names.ts';
import { objectsAt, textAt } from './server-object.ts';

/** The longest time that a person waits for a completion. */
const timeoutMs = 1000;

/** The number of names that are offered. */
const maxNames = '500';

export interface CompletedLine {
  readonly command: Command;
  /** The words behind the command; the last one is not finished. */
  readonly words: readonly string[];
  readonly environment: ClientSources['environment'];
}

/**
 * Returns the kinds, or the names of objects of a kind, that can complete the end of the line; none when the server
 * does not respond.
 */
export async function objectCandidates({ command, words, environment }: CompletedLine): Promise<readonly string[]> {
  const names = command.options.map(({ long }) => long);
  if (!names.includes('--namespace')) return [];
  const { values, flags } = splitWords(command, words);
  try {
    const server = new ObjectServer(readServer({ flags, environment }), AbortSignal.timeout(timeoutMs), {
      warn: () => undefined,
    });
    const resources = await ResourceNames.read(server);
    const last = values.at(-1) ?? '';
    const namespace = flags['namespace'] ?? 'default';
    const namesOf = async (type: string): Promise<readonly string[]> => {
      const list = await server.send('GET', collectionPath(resources.find(type), namespace), {
        query: { limit: maxNames },
      });
      return objectsAt(list, 'items').map((item) => textAt(item, 'metadata', 'name'));
    };
    const [type = ''] = last.split('/');
    if (last.includes('/')) return (await namesOf(type)).map((name) => `${type}/${name}`);
    const [first] = values;
    if (values.length > 1 && first !== undefined) return await namesOf(first);
    return resources.all.filter(({ verbs }) => verbs.includes('list')).map(({ plural }) => plural);
  } catch {
    // There is nothing to offer, and no place for an error.
    return [];
  }
}

/** Separates flags with their values from arguments. */
function splitWords(
  command: Command,
  words: readonly string[],
): { readonly values: readonly string[]; readonly flags: Readonly<Record<string, string>> } {
  const values: string[] = [];
  const flags: Record<string, string> = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const [name, given] = word.split('=');
    const option = command.options.find(({ long, short }) => name === long || name === short);
    if (option === undefined) values.push(word);
    else if (option.required) {
      if (given === undefined) at += 1;
      flags[option.long?.slice(2) ?? ''] = given ?? words[at] ?? '';
    }
  }
  return { values, flags };
}
