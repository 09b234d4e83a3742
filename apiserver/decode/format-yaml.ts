import { dump } from 'js-yaml';

/** The part of a document to write: the whole document, or only the lines below its field `items`. */
export type YamlPart = 'document' | 'items';

const itemsField = 'items:\n';

/**
 * Writes JSON as YAML: as a document, or, if `part` is `items`, as the lines below the field `items` of a document. For
 * `items`, the JSON must be an array that is not empty.
 */
export function formatYaml(json: string, part: YamlPart): string {
  const value: unknown = JSON.parse(json);
  return part === 'document' ? dump(value) : dump({ items: value }).slice(itemsField.length);
}
