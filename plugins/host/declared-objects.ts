import { parseYamlDocuments } from '@homeostat/apiserver';
import type { ApiObject, GroupVersionKind, NewObject } from '@homeostat/controller-runtime/api';
import { readdir, readFile, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { errorText } from './error-text.ts';
import { fileInside } from './inside-folder.ts';
import type { PluginManifest } from './manifest.ts';
import { isMapping, yamlLimits } from './yaml-mapping.ts';

/** One document of a plugin's YAML files (spec 2.9). */
export interface DeclaredObject {
  /** File, document and line, as messages begin with it. */
  readonly place: string;
  readonly gvk: GroupVersionKind;
  readonly object: NewObject<ApiObject>;
}

/** The first is where this project's layout has them, the second where the spec does. */
const folders = ['resources/extensions', 'src/main/resources/extensions'] as const;

/** As large as the body of a request may be. */
const maxFileBytes = 3 * 1024 * 1024;

/**
 * All objects that the files of a plugin declare, in the order of file names. Only kind and apiVersion (revision 2.9:
 * groupVersion) decide what an object is. Rejects with every mistake: file, document, line and field.
 */
export async function readDeclaredObjects(
  folder: string,
  revision: PluginManifest['revision'],
): Promise<readonly DeclaredObject[]> {
  const objects: DeclaredObject[] = [];
  const problems: string[] = [];
  for (const file of await yamlFiles(folder)) {
    for (const read of await readFileObjects(folder, file, revision)) {
      if (typeof read === 'string') problems.push(read);
      else objects.push(read);
    }
  }
  if (problems.length > 0) throw new Error(problems.join('; '));
  return objects;
}

/** Objects, and what is wrong with those that are none. */
async function readFileObjects(
  folder: string,
  file: string,
  revision: PluginManifest['revision'],
): Promise<readonly (DeclaredObject | string)[]> {
  try {
    const documents = parseYamlDocuments(await readText(folder, file), yamlLimits);
    return documents.flatMap(({ document, line, value }) =>
      declaredObject(`${file}: document ${document}, line ${line}`, value, revision),
    );
  } catch (error) {
    return [`${file}: ${errorText(error)}`];
  }
}

async function yamlFiles(folder: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    folders.map(async (each) => (await namesIn(posix.join(folder, each))).map((name) => posix.join(each, name))),
  );
  return lists.flat().filter((file) => /\.ya?ml$/.test(file));
}

async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function readText(folder: string, file: string): Promise<string> {
  const path = await fileInside(folder, file);
  const { size } = await stat(path);
  if (size > maxFileBytes) throw new Error(`is larger than ${maxFileBytes} bytes`);
  return readFile(path, 'utf8');
}

function declaredObject(
  place: string,
  value: unknown,
  revision: PluginManifest['revision'],
): readonly (DeclaredObject | string)[] {
  if (!isMapping(value)) return [`${place}: must be an object with apiVersion, kind and metadata`];
  const versionKey = revision === '2.9' ? 'groupVersion' : 'apiVersion';
  const { [versionKey]: apiVersion, kind, metadata, ...fields } = value;
  const name = isMapping(metadata) ? metadata['name'] : undefined;
  const texts = { [versionKey]: apiVersion, kind, 'metadata.name': name };
  const problems = Object.entries(texts).flatMap(([field, text]) => missingText(field, text) ?? []);
  if (problems.length > 0) return problems.map((problem) => `${place}: ${problem}`);
  const object = { ...fields, apiVersion, kind, metadata } as NewObject<ApiObject>;
  return [{ place, gvk: gvkOf(apiVersion as string, kind as string), object }];
}

function missingText(field: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return `${field}: is missing`;
  return typeof value === 'string' && value !== '' ? undefined : `${field}: must be a text`;
}

function gvkOf(apiVersion: string, kind: string): GroupVersionKind {
  const slash = apiVersion.indexOf('/');
  return { group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind };
}
