import { readYamlDocuments } from '@homeostat/apiserver/command-line';
import { readdir, readFile, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { declarationsOf } from './declared-object.ts';
import type { Declaration } from './declared-object.ts';
import { errorText, hasCode } from '../text/error-text.ts';
import { fileInside } from '../text/inside-folder.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { yamlLimits } from '../text/yaml-mapping.ts';

/** The folders of YAML files. The specification (2.9) names the second folder. Subfolders are not read. */
const folders = ['resources/extensions', 'src/main/resources/extensions'] as const;

/** The maximum size of a file, which is also that of the body of a request. */
const maxFileBytes = 3 * 1024 * 1024;

/** The maximum number of documents in one file. */
const maxDocuments = 1000;

/**
 * Returns all declared objects in a plugin's YAML files (.yaml or .yml), and all mistakes in the files. In each folder,
 * the files are read in the order of their names.
 */
export async function readDeclaredObjects(
  folder: string,
  revision: PluginManifest['revision'],
): Promise<readonly Declaration[]> {
  const declarations: Declaration[] = [];
  for (const file of await yamlFiles(folder)) declarations.push(...(await readDeclarations(folder, file, revision)));
  return declarations;
}

async function readDeclarations(
  folder: string,
  file: string,
  revision: PluginManifest['revision'],
): Promise<readonly Declaration[]> {
  try {
    const documents = readYamlDocuments(await readText(folder, file), yamlLimits);
    if (documents.length > maxDocuments)
      throw new Error(`has ${documents.length} documents, but may have at most ${maxDocuments}`);
    return documents.flatMap((each) =>
      'message' in each ? [{ file, ...each }] : declarationsOf(file, each, revision),
    );
  } catch (error) {
    return [{ file, message: errorText(error) }];
  }
}

async function yamlFiles(folder: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    folders.map(async (each) => (await namesIn(posix.join(folder, each))).map((name) => posix.join(each, name))),
  );
  return lists.flat().filter((file) => /\.ya?ml$/i.test(file));
}

async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

async function readText(folder: string, file: string): Promise<string> {
  const path = await fileInside(folder, file);
  const stats = await stat(path);
  if (!stats.isFile()) throw new Error('is not a file');
  if (stats.size > maxFileBytes) throw new Error(`is larger than ${maxFileBytes} bytes`);
  return decodeText(await readFile(path));
}

/** Decodes a file like the body of a request: bytes that are not UTF-8 are refused, not replaced. */
function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error('is not UTF-8', { cause });
  }
}
