import { parseYamlDocuments } from '@homeostat/apiserver';
import { isJsonObject } from '@homeostat/controller-runtime/api';

export { isJsonObject };

/** Nothing that people write by hand nests deeper than objects may. */
export const yamlLimits = { maxDepth: 64 } as const;

/**
 * The one mapping that a YAML file of settings holds; an empty file is an empty one.
 * Throws Error in words that `file` can stand in front of.
 */
export function parseYamlMapping(text: string): Readonly<Record<string, unknown>> {
  const documents = parseYamlDocuments(text, yamlLimits);
  if (documents.length > 1) throw new Error(`holds ${documents.length} documents, and must hold one`);
  const value = documents[0]?.value ?? {};
  if (!isJsonObject(value)) throw new Error('must be a mapping of keys to values');
  return value;
}
