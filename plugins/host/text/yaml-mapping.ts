import { parseYamlDocuments } from '@homeostat/apiserver/command-line';
import { isJsonObject } from '@homeostat/controller-runtime/api';

export { isJsonObject };

/** Files that people write by hand do not nest deeper than objects may. */
export const yamlLimits = { maxDepth: 64 } as const;

/**
 * The one mapping of a YAML file of settings; an empty file is an empty mapping. Throws Error with a message that
 * follows the file's name.
 */
export function parseYamlMapping(text: string): Readonly<Record<string, unknown>> {
  const documents = parseYamlDocuments(text, yamlLimits);
  if (documents.length > 1) throw new Error(`holds ${documents.length} documents, and must hold one`);
  const value = documents[0]?.value ?? {};
  if (!isJsonObject(value)) throw new Error('must be a mapping of keys to values');
  return value;
}
