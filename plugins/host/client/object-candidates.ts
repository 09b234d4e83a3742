import type { Command, Option } from 'commander';
import { readServer } from '../serve/read-server.ts';
import type { ClientSources } from './client-command.ts';
import { ObjectServer } from './object-server.ts';
import { collectionPath, ResourceNames } from './resource-names.ts';
import type { ServedResource } from './resource-names.ts';
import { objectsAt, textAt } from './server-object.ts';

/** The maximum time for a completion, because a person waits for it. */
const timeoutMs = 1000;

/** The maximum number of object names that a completion offers. */
const maxNames = '500';

export interface CompletedLine {
  readonly command: Command;
  /** The words after the command; the last word may be incomplete. */
  readonly words: readonly string[];
  readonly environment: ClientSources['environment'];
}

/**
 * Returns the kinds, names of objects, or values of an option that can complete the end of the line; none where a file
 * is expected, and none when the server does not respond.
 */
export async function objectCandidates(line: CompletedLine): Promise<readonly string[]> {
  const { command, words, environment } = line;
  const names = command.options.map(({ long }) => long);
  if (!names.includes('--namespace')) return [];
  const { values, flags } = splitWords(command, words);
  const option = optionBefore(line);
  if (option !== undefined && option.long !== '--namespace') return valuesOf(option);
  try {
    const server = new ObjectServer(readServer({ flags, environment }), AbortSignal.timeout(timeoutMs), {
      warn: () => undefined,
    });
    const namespace = flags['namespace'] ?? 'default';
    const namesOf = async (resource: ServedResource): Promise<readonly string[]> => {
      const list = await server.send('GET', collectionPath(resource, namespace), { query: { limit: maxNames } });
      return objectsAt(list, 'items').map((item) => textAt(item, 'metadata', 'name'));
    };
    const resources = await ResourceNames.read(server);
    if (option !== undefined) return await namesOf(resources.find('namespaces'));
    if (takesFilesOnly.has(command.name())) return [];
    const last = values.at(-1) ?? '';
    const [type = ''] = last.split('/');
    if (last.includes('/')) return (await namesOf(resources.find(type))).map((name) => `${type}/${name}`);
    const [first] = values;
    if (values.length > 1 && first !== undefined) return await namesOf(resources.find(first));
    return resources.all.filter(({ verbs }) => verbs.includes('list')).map(({ plural }) => plural);
  } catch {
    // Without the server there is nothing to offer, and a shell cannot show an error during a completion.
    return [];
  }
}

/** Commands that take only options, and no kinds or names as arguments. */
const takesFilesOnly: ReadonlySet<string> = new Set(['apply', 'create', 'events']);

/** Returns the option that the last word is a value of; undefined when the word is not a value. */
function optionBefore({ command, words }: CompletedLine): Option | undefined {
  const before = words.at(-2);
  if (before === undefined) return undefined;
  return command.options.find(({ long, short, required }) => required && (before === long || before === short));
}

/**
 * Returns the values of `-o` that its help lists, such as `yaml`, or their beginnings, such as `jsonpath=`; none for
 * other options.
 */
function valuesOf({ long, description }: Option): readonly string[] {
  if (long !== '--output') return [];
  return ['table', 'wide', 'json', 'yaml', 'name', 'text', 'jsonpath=', 'custom-columns='].filter((value) =>
    description.includes(value),
  );
}

/** Separates the flags of a command line, each with its value, from the arguments. */
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
