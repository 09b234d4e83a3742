import { metadataShapeErrors } from '@homeostat/controller-runtime/api';
import { firstRepetitions, identityOf, isMapItem } from './distinct.ts';
import type { SchemaNode } from './schema-node.ts';
import type { Violations } from './violations.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Reports the violations of the object as a whole. Does not apply the schemas of its fields. */
export function explainObject(node: SchemaNode, value: Fields, violations: Violations): void {
  const { schema, required, minProperties, maxProperties } = node;
  const count = node.judgesFields ? Object.keys(value).length : 0;
  for (const name of required) {
    if (violations.isFull) return;
    if (!Object.hasOwn(value, name)) violations.at(name, () => violations.required());
  }
  if (count < minProperties) {
    violations.invalid(count, `should have at least ${minProperties} properties`);
  }
  if (count > maxProperties) violations.tooMany(count, maxProperties);
  if (schema.additionalProperties === false) explainForbidden(schema, value, violations);
  if (schema['x-kubernetes-embedded-resource'] === true) explainEmbedded(value, violations);
}

function explainForbidden({ properties = {} }: SchemaNode['schema'], value: Fields, violations: Violations): void {
  for (const name of Object.keys(value)) {
    if (violations.isFull) return;
    if (!Object.hasOwn(properties, name)) {
      violations.at(name, () => violations.invalid(value[name], 'is a forbidden property'));
    }
  }
}

function explainEmbedded(value: Fields, violations: Violations): void {
  for (const name of ['apiVersion', 'kind']) {
    const text = value[name] ?? '';
    violations.at(name, () => {
      if (text === '') violations.required();
      else if (typeof text !== 'string') violations.wrongType(typeof text, 'string');
    });
  }
  const prefix = violations.path.length === 0 ? '' : `${violations.field}.`;
  const { metadata = {} } = value;
  violations.addAll(metadataShapeErrors(metadata).map((cause) => ({ ...cause, field: `${prefix}${cause.field}` })));
}

/** Reports the violations of the list as a whole. Does not apply the schema of its items. */
export function explainList({ schema, identity }: SchemaNode, items: readonly unknown[], violations: Violations): void {
  const { minItems, maxItems } = schema;
  if (minItems !== undefined && items.length < minItems) {
    violations.invalid(items.length, `should have at least ${minItems} items`);
  }
  if (maxItems !== undefined && items.length > maxItems) violations.tooMany(items.length, maxItems);
  if (identity === undefined) return;
  if (identity.kind === 'map') explainMapItems(items, violations);
  const ofMap = identity.kind === 'map' ? items.every(isMapItem) : true;
  for (const index of ofMap ? firstRepetitions(items, identity) : []) {
    violations.at(index, () => violations.duplicate(identityOf(items[index], identity)));
  }
}

function explainMapItems(items: readonly unknown[], violations: Violations): void {
  for (const [index, item] of items.entries()) {
    if (violations.isFull) return;
    if (!isMapItem(item))
      violations.at(index, () => violations.invalid(item, 'must be an object, because it is in a list of type map'));
  }
}
