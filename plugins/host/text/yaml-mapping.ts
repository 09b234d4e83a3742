import { parseYamlDocuments } from '@homeostat/apiserver/command-line';
import { isJsonObject } from '@homeostat/controller-runtime/api';

export { isJsonObject };

/** The limit for YAML files of users: they may be nested as deep as objects, but not deeper. */
export const yamlLimits = { maxDepth: 64 } as const;

/**
 * Returns the mapping in a YAML file of settings; an empty file is an empty mapping. Throws an Error for any other
 * content. The caller puts the name of the file before the message.
 */
export function parseYamlMapping(text: string): Readonly<Record<string, unknown>> {
  const documents = parseYamlDocuments(text, yamlLimits);
  if (documents.length > 1) throw new Error(`has ${documents.length} documents, but may have only one`);
  const value = documents[0]?.value ?? {};
  if (!isJsonObject(value)) throw new Error('must be a mapping of keys to values');
  return value;
}
