import { isJsonObject } from '@homeostat/controller-runtime/api';
import { readFile, stat } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { glob, isDynamicPattern } from 'tinyglobby';
import { CommandError } from './command-error.ts';
import { readYaml } from './read-yaml.ts';
import { isGivenObject } from './server-object.ts';
import type { GivenObject } from './server-object.ts';

/** An object that was read from a file. */
export interface FileObject {
  readonly object: GivenObject;
  /** The file, as messages name it. */
  readonly origin: string;
}

/**
 * Reads the objects of `-f`: files, folders (their .json, .yaml and .yml files, in the order of names), glob patterns,
 * and `-` for stdin. Returns the items of a List instead of the List. @throws CommandError that names the file, and for
 * a syntax error the line
 */
export async function readObjectFiles(paths: readonly string[]): Promise<readonly FileObject[]> {
  const objects: FileObject[] = [];
  for (const path of paths) {
    for (const file of await filesOf(path)) objects.push(...parse(file, await contentOf(file)));
  }
  if (objects.length === 0) throw new CommandError('no objects passed: the files contain no object');
  return objects;
}

async function filesOf(path: string): Promise<readonly string[]> {
  if (path === '-') return ['-'];
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() === true) return [path];
  if (found?.isDirectory() === true) {
    const files = await matches(['*.json', '*.yaml', '*.yml'], path);
    if (files.length === 0) throw new CommandError(`no file in ${path} has the extension .json, .yaml or .yml`);
    return files.map((name) => `${path.replace(/\/$/, '')}/${name}`);
  }
  if (found === undefined && isDynamicPattern(path)) {
    const files = await matches([path], '.');
    if (files.length === 0) throw new CommandError(`no file matches "${path}"`);
    return files;
  }
  throw new CommandError(`the path "${path}" does not exist`);
}

async function matches(patterns: string[], cwd: string): Promise<readonly string[]> {
  const found = await glob(patterns, { cwd, expandDirectories: false, dot: false });
  return found.sort();
}

async function contentOf(file: string): Promise<string> {
  return file === '-' ? textOf(process.stdin) : readFile(file, 'utf8');
}

/** Returns the objects of a text in YAML or JSON. @throws CommandError */
export function parse(file: string, text: string): readonly FileObject[] {
  const origin = file === '-' ? 'stdin' : file;
  const documents = readYaml(text, origin);
  return documents.flatMap((document, index) =>
    document === null || document === undefined
      ? []
      : objectsOf(document, documents.length === 1 ? origin : `${origin}, document ${index + 1}`),
  );
}

function objectsOf(value: unknown, origin: string): readonly FileObject[] {
  if (isJsonObject(value) && value['kind'] === 'List' && Array.isArray(value['items']))
    return value['items'].flatMap((item, index) => objectsOf(item, `${origin}, item ${index + 1}`));
  if (isGivenObject(value)) return [{ object: value, origin }];
  if (!isJsonObject(value)) throw new CommandError(`${origin} is not an object with apiVersion, kind and metadata`);
  const missing = ['apiVersion', 'kind', 'metadata'].filter((field) => value[field] === undefined);
  throw new CommandError(`${origin}: ${missing.join(', ') || 'apiVersion, kind or metadata'} must be set`);
}
