import type { DefinitionSchema } from './definition.ts';
import type { DefinitionViolations } from './definition-violations.ts';

/**
 * Checks the requirements of x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type for a schema
 * and its items.
 */
export function checkLists(field: string, schema: DefinitionSchema, violations: DefinitionViolations): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-map-type'] !== undefined && schema.type !== 'object')
    violations.invalid(`${field}.type`, schema.type, 'must be object if x-kubernetes-map-type is specified');
  if (keys !== undefined && listType !== 'map')
    violations.forbidden(`${field}.x-kubernetes-list-map-keys`, 'is for lists of type map only');
  if (schema.type === 'array' && schema.items === undefined) violations.required(`${field}.items`, 'must be specified');
  if (listType === undefined) return;
  if (!['atomic', 'set', 'map'].includes(listType))
    violations.notSupported(`${field}.x-kubernetes-list-type`, listType, ['atomic', 'map', 'set']);
  if (schema.type !== 'array')
    violations.invalid(`${field}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified');
  if (listType === 'set') checkSet(field, schema, violations);
  if (listType === 'map') checkMap(field, schema, violations);
}

function checkSet(field: string, { items }: DefinitionSchema, violations: DefinitionViolations): void {
  const place = `${field}.items`;
  if (items === undefined) return;
  if (items.nullable === true) violations.forbidden(`${place}.nullable`, 'cannot be nullable in a list of type set');
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    violations.invalid(
      `${place}.x-kubernetes-map-type`,
      items['x-kubernetes-map-type'],
      'must be atomic as item of a list with x-kubernetes-list-type=set',
    );
  if (items.type === 'array' && ['set', 'map'].includes(items['x-kubernetes-list-type'] ?? ''))
    violations.invalid(
      `${place}.x-kubernetes-list-type`,
      items['x-kubernetes-list-type'],
      'must be atomic as item of a list with x-kubernetes-list-type=set',
    );
}

function checkMap(field: string, schema: DefinitionSchema, violations: DefinitionViolations): void {
  const { items } = schema;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const place = `${field}.items`;
  if (keys.length === 0)
    violations.required(`${field}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map');
  if (items === undefined) return;
  if (items.nullable === true) violations.forbidden(`${place}.nullable`, 'cannot be nullable in a list of type map');
  if (items.type !== 'object')
    violations.invalid(`${place}.type`, items.type ?? '', 'must be object if parent array is a list of type map');
  for (const key of keys) checkKey(place, { items, key }, violations);
  if (new Set(keys).size < keys.length)
    violations.invalid(`${field}.x-kubernetes-list-map-keys`, keys, 'must not name a key twice');
}

interface MapKey {
  readonly items: DefinitionSchema;
  readonly key: string;
}

function checkKey(place: string, { items, key }: MapKey, violations: DefinitionViolations): void {
  const field = `${place}.properties[${key}]`;
  const { properties = {}, required = [] } = items;
  const schema = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (schema === undefined)
    return violations.invalid(field, key, 'must be a field of the items: it is a key of the list');
  if (schema.type === 'object' || schema.type === 'array')
    violations.invalid(`${field}.type`, schema.type, 'must be a scalar type if parent array is a list of type map');
  if (schema.nullable === true)
    violations.forbidden(`${field}.nullable`, 'this property is a key of a list of type map: it cannot be nullable');
  if (!required.includes(key) && schema.default === undefined)
    violations.required(
      `${field}.default`,
      'this property is a key of a list of type map: it must have a default or be a required property',
    );
}
