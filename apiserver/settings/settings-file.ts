import { isJsonObject } from '@homeostat/controller-runtime/api';
import { readYamlDocuments } from '../decode/yaml-documents.ts';
import { readPrivate } from '../tls/private-file.ts';
import { SettingsFields, SettingsFileError } from './fields.ts';

/** People write these files by hand, so they need little depth. */
const limits = { maxDepth: 32 } as const;

export interface SettingsText {
  readonly path: string;
  readonly text: string;
}

/**
 * Reads a file of settings about credentials. Rejects with SettingsFileError when it is absent, too large, or
 * when others than its owner have access to it; root's group may read it, so that a secret can be mounted.
 */
export async function readSettingsText(path: string): Promise<SettingsText> {
  try {
    return { path, text: await readPrivate(path, { groupOfRoot: true, holds: 'file' }) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new SettingsFileError(message.includes(path) ? message : `${path}: ${message}`);
  }
}

/**
 * Reads a file that holds one secret, and perhaps the end of its line. Rejects as {@link readSettingsText} does, and
 * for an empty secret.
 */
export async function readSecret(path: string): Promise<string> {
  const { text } = await readSettingsText(path);
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new SettingsFileError(`${path}: is empty`);
  return secret;
}

/**
 * Parses the one YAML document of a file of settings.
 * @throws SettingsFileError that names file and line
 */
export function parseSettings({ path, text }: SettingsText): SettingsFields {
  const [document, ...others] = readYamlDocuments(text, limits);
  if (document === undefined) throw new SettingsFileError(`${path}: is empty`);
  // The parser quotes the wrong text, which may be a misplaced secret.
  if ('message' in document) {
    throw new SettingsFileError(`${path}:${document.line}: ${document.message.replaceAll(/".*"/gs, '"…"')}`);
  }
  const [second] = others;
  if (second !== undefined) throw new SettingsFileError(`${path}:${second.line}: must hold one YAML document only`);
  const { value, line, lineOf } = document;
  if (!isJsonObject(value)) throw new SettingsFileError(`${path}:${line}: must be a mapping of keys to values`);
  return new SettingsFields({ path, lineOf }, '', value);
}
