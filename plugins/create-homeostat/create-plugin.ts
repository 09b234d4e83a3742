import { mkdir, readdir } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { addPart } from './add-part.ts';
import { checkKindNames, checkPluginGroup, checkPluginName } from './names/check-names.ts';
import { kebabCase, pluralOf } from './names/names.ts';
import { ScaffoldError } from './names/scaffold-error.ts';
import { pluginFiles, tools } from './templates/plugin-files.ts';
import { writeNewFiles } from './names/write-new-files.ts';

export interface NewPlugin {
  /** The folder, which is created if it does not exist; it must be empty, except for `.git`. */
  readonly folder: string;
  readonly name: string;
  readonly group: string;
  readonly kind: string;
}

/**
 * Makes a plugin with one kind and one controller. Rejects with ScaffoldError, and writes nothing, when a value is
 * invalid or the folder is not empty.
 */
export async function createPlugin(plugin: NewPlugin): Promise<void> {
  const { folder, name, group, kind } = plugin;
  const problem = problemOf(plugin);
  if (problem !== undefined) throw new ScaffoldError(problem);
  await requireEmpty(folder);
  await mkdir(folder, { recursive: true });
  const plural = pluralOf(kind);
  await writeNewFiles(folder, pluginFiles({ name, group, kind, plural, version: ownVersion() }));
  await addPart({ folder, group, type: 'kind', name: kind });
  await addPart({ folder, group, type: 'controller', name: kebabCase(kind), kind });
}

/**
 * Returns only the first problem: an invalid name makes the default group invalid, and with an invalid group, the check
 * of the kind fails, too.
 */
function problemOf({ name, group, kind }: NewPlugin): string | undefined {
  const nameProblem = nameProblemOf(name);
  if (nameProblem !== undefined) return `--name: ${nameProblem}`;
  const groupProblem = groupProblemOf(group);
  return groupProblem === undefined ? kindProblemOf({ group, kind }) : `--group: ${groupProblem}`;
}

/** Returns why a plugin cannot have the name; undefined when it can. */
export function nameProblemOf(name: string): string | undefined {
  const problem = checkPluginName(name) ?? checkPackageName(name);
  return problem === undefined ? undefined : `"${name}" ${problem}`;
}

/** Returns why a plugin cannot have the group; undefined when it can. */
export function groupProblemOf(group: string): string | undefined {
  const problem = checkPluginGroup(group);
  return problem === undefined ? undefined : `"${group}" ${problem}`;
}

/** Returns why a plugin with the group cannot have the kind; undefined when it can. */
export function kindProblemOf({ group, kind }: Pick<NewPlugin, 'group' | 'kind'>): string | undefined {
  return checkKindNames({ group, kind, plural: pluralOf(kind) });
}

/** Refuses the names of packages that a plugin depends on, because npm does not install a package into itself. */
function checkPackageName(name: string): string | undefined {
  return name === 'homeostat' || Object.hasOwn(tools, name)
    ? 'is the name of a package that a plugin needs'
    : undefined;
}

async function requireEmpty(folder: string): Promise<void> {
  const names = await namesIn(folder);
  if (names.some((name) => name !== '.git')) throw new ScaffoldError(`${folder} is not empty: choose another folder`);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ENOENT') return [];
    throw new ScaffoldError(`${folder} is ${code === 'ENOTDIR' ? 'not a folder' : 'not readable'}`, { cause });
  }
}

/** Returns the version of this package, which is also that of homeostat: all packages are released together. */
function ownVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  return typeof content === 'object' && content !== null && 'version' in content ? String(content.version) : '';
}
