import { isJsonObject } from '@homeostat/controller-runtime/api';
import { readYamlDocuments } from '../decode/yaml-documents.ts';
import { readPrivate } from '../tls/private-file.ts';
import { SettingsFields, SettingsFileError } from './fields.ts';

/** The limits of a file of settings. People write these files by hand, so they need little depth. */
const limits = { maxDepth: 32 } as const;

export interface SettingsText {
  readonly path: string;
  readonly text: string;
}

/**
 * Reads a file of settings about credentials. Rejects with SettingsFileError when the file is absent or too large, or
 * when users other than its owner have access to it. Exception: the group of a file that root owns may read the file,
 * so that a secret can be mounted.
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
 * Reads a file that contains one secret, with or without a line break after it. Rejects as {@link readSettingsText}
 * does, and when the secret is empty.
 */
export async function readSecret(path: string): Promise<string> {
  const { text } = await readSettingsText(path);
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new SettingsFileError(`${path}: is empty`);
  return secret;
}

/**
 * Parses a file of settings, which must be a single YAML document. @throws SettingsFileError, which names the file, and
 * the line unless the file is empty
 */
export function parseSettings({ path, text }: SettingsText): SettingsFields {
  const [document, ...others] = readYamlDocuments(text, limits);
  if (document === undefined) throw new SettingsFileError(`${path}: is empty`);
  // The parser's message quotes the invalid text, which may be a misplaced secret, so the quote is removed.
  if ('message' in document) {
    throw new SettingsFileError(`${path}:${document.line}: ${document.message.replaceAll(/".*"/gs, '"…"')}`);
  }
  const [second] = others;
  if (second !== undefined) throw new SettingsFileError(`${path}:${second.line}: must hold one YAML document only`);
  const { value, line, lineOf } = document;
  if (!isJsonObject(value)) throw new SettingsFileError(`${path}:${line}: must be a mapping of keys to values`);
  return new SettingsFields({ path, lineOf }, '', value);
}
