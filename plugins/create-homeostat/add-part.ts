import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkKindNames, checkPartName } from './names/check-names.ts';
import { addToIndex } from './index-module.ts';
import { kebabCase, pluralOf } from './names/names.ts';
import { ScaffoldError } from './names/scaffold-error.ts';
import { controllerFiles, controllerVariable } from './templates/controller-files.ts';
import { endpointFiles, endpointVariable } from './templates/endpoint-files.ts';
import { kindFiles } from './templates/kind-files.ts';
import type { PartType } from './names/part-type.ts';
import { writeNewFiles } from './names/write-new-files.ts';
import type { Files } from './names/write-new-files.ts';

/** The kind, controller or endpoint to add, and its plugin. */
export interface AddPartOptions {
  /** The folder of the plugin. Its index.ts lists the plugin's kinds, controllers and endpoints. */
  readonly folder: string;
  /** The group of the plugin. */
  readonly group: string;
  readonly type: PartType;
  /** The name: in PascalCase for a kind, in lower case for a controller or an endpoint. */
  readonly name: string;
  /** The plural of a kind. Default: the English plural of its name. */
  readonly plural?: string;
  /**
   * The kind that a controller reconciles; kinds/ has its file. Default: the kind whose file has the controller's name.
   */
  readonly kind?: string;
}

/** The kind, controller or endpoint that was added to a plugin. */
export interface AddedPart {
  /** Paths that were written, relative to the folder. */
  readonly files: readonly string[];
}

interface Part {
  readonly files: Files;
  /** The name of the constant that `module` exports and index.ts imports. */
  readonly variable: string;
  readonly module: string;
}

/**
 * Adds a kind, a controller or an endpoint to a plugin, with its test, and registers the part in index.ts, the only
 * existing file that changes. Rejects with ScaffoldError, and writes nothing, when a name is invalid, when a file of
 * the part already exists, or when something is missing: index.ts, the comment in index.ts above which the part is
 * inserted, or the kind of a controller.
 */
export async function addPart(options: AddPartOptions): Promise<AddedPart> {
  const { folder, type } = options;
  const { files, variable, module } = await partOf(options);
  const path = join(folder, 'index.ts');
  const index = addToIndex(await readIndex(path), { type, variable, module });
  await writeNewFiles(folder, files);
  await writeFile(path, index);
  return { files: [...Object.keys(files), 'index.ts'] };
}

async function readIndex(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ScaffoldError('this folder has no index.ts: run the command in the folder of a plugin', { cause });
  }
}

async function partOf(options: AddPartOptions): Promise<Part> {
  switch (options.type) {
    case 'kind':
      return kindPart(options);
    case 'controller':
      return controllerPart(options);
    case 'endpoint':
      return endpointPart(options);
  }
}

function kindPart({ group, name: kind, plural = pluralOf(kind) }: AddPartOptions): Part {
  const problem = checkKindNames({ group, kind, plural });
  if (problem !== undefined) throw new ScaffoldError(problem);
  return { files: kindFiles({ group, kind, plural }), variable: kind, module: `./kinds/${kebabCase(kind)}.ts` };
}

async function controllerPart({ folder, name, kind }: AddPartOptions): Promise<Part> {
  requirePartName(name);
  const driven = await findKind(folder, name, kind);
  return {
    files: controllerFiles({ name, kind: driven }),
    variable: controllerVariable(name),
    module: `./controllers/${name}.ts`,
  };
}

/** Returns the requested kind, or else the kind with the controller's name. A file in kinds/ must export it. */
async function findKind(folder: string, controller: string, kind: string | undefined): Promise<string> {
  const file = kind === undefined ? controller : kebabCase(kind);
  // The path cannot leave kinds/: the name of a part has no slash and no dot.
  const source = checkPartName(file) === undefined ? await readKind(join(folder, 'kinds', `${file}.ts`)) : undefined;
  const exports = (source ?? '').matchAll(/^export (?:const|class) ([A-Z]\w*)/gm);
  const exported = [...exports].flatMap(([, name]) => name ?? []);
  const found = exported.find((name) => (kind === undefined ? kebabCase(name) === controller : name === kind));
  if (found !== undefined) return found;
  const path = `kinds/${file}.ts`;
  if (kind !== undefined)
    throw new ScaffoldError(
      source === undefined ? `there is no ${path}, which must export ${kind}` : `${path} does not export ${kind}`,
    );
  const problem = source === undefined ? `there is no ${path}` : `${path} does not export the kind`;
  throw new ScaffoldError(`${problem}: name the kind of the controller with --kind`);
}

/** Resolves with the source of a kind; undefined when the file cannot be read. */
async function readKind(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

function endpointPart({ name, group }: AddPartOptions): Part {
  requirePartName(name);
  return { files: endpointFiles({ name, group }), variable: endpointVariable(name), module: `./endpoints/${name}.ts` };
}

function requirePartName(name: string): void {
  const problem = checkPartName(name);
  if (problem !== undefined) throw new ScaffoldError(`the name "${name}" ${problem}`);
}
