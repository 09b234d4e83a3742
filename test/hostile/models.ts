import { defineModel } from '@homeostat/controller-runtime/api';
import type { JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';

const apiVersion = 'hostile.example.com/v1';

const keyed: JsonSchema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['k'],
  items: { type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: { type: 'string' } } },
};

/** A schema with all constructs that cost time: defaults in lists, lists of all types, maps, and unknown fields. */
const schema: JsonSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        code: { type: 'string', pattern: '^(a|b)*a(a|b){900}$' },
        weight: { type: 'integer' },
        tags: { type: 'array', items: { type: 'string' } },
        list: {
          type: 'array',
          items: { type: 'object', properties: { a: { type: 'string', default: 'x' }, b: { type: 'integer' } } },
        },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        keyed,
        manyKeyed: { type: 'object', additionalProperties: keyed },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};

export function thingWith(indexes: readonly string[]): ModelDescriptor {
  return defineModel({
    gvk: `${apiVersion}/Thing`,
    plural: 'things',
    singular: 'thing',
    scope: 'Namespaced',
    schema,
    indexes,
  });
}

export const things = `/apis/${apiVersion}/namespaces/default/things`;

/** Returns a Thing as a client sends it. */
export function newThing(name: string, spec: object = {}, metadata: object = {}): Record<string, unknown> {
  return { apiVersion, kind: 'Thing', metadata: { name, ...metadata }, spec };
}
