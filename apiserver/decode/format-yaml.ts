import { dump } from 'js-yaml';

/** The part of a document to write: the whole document, or only the lines below its field `items`. */
export type YamlPart = 'document' | 'items';

const itemsField = 'items:\n';

/** Writes JSON as YAML. For the part `items`, the JSON must be a list that is not empty. */
export function formatYaml(json: string, part: YamlPart): string {
  const value: unknown = JSON.parse(json);
  return part === 'document' ? dump(value) : dump({ items: value }).slice(itemsField.length);
}
