import { parseYamlDocuments } from '@homeostat/apiserver/command-line';
import { isJsonObject } from '@homeostat/controller-runtime/api';

export { isJsonObject };

/** The limit for files that people write by hand: they may nest as deep as objects, and no deeper. */
export const yamlLimits = { maxDepth: 64 } as const;

/**
 * Returns the mapping in a YAML file of settings; an empty file is an empty mapping. Throws an Error for any other
 * content; its message is meant to follow the name of the file.
 */
export function parseYamlMapping(text: string): Readonly<Record<string, unknown>> {
  const documents = parseYamlDocuments(text, yamlLimits);
  if (documents.length > 1) throw new Error(`has ${documents.length} documents, but may have only one`);
  const value = documents[0]?.value ?? {};
  if (!isJsonObject(value)) throw new Error('must be a mapping of keys to values');
  return value;
}
