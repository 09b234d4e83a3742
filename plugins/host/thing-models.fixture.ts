import { defineModel } from './index.ts';
import type { ApiObject, ModelDescriptor } from './index.ts';

/** Returns the model of a kind with its fields at the top level, and an index on the field `code`. */
export function flatModel(): ModelDescriptor<ApiObject & { readonly code?: string }> {
  const schema = { type: 'object', properties: { code: { type: 'string' } } } as const;
  return defineModel({ gvk: 'things.example.com/v1/Flat', plural: 'flats', schema, indexes: ['code'] });
}

/** Returns the model of a kind with its fields in `spec`, and an index on `spec.code`. */
export function wrappedModel(): ModelDescriptor<ApiObject & { readonly spec?: { readonly code?: string } }> {
  const spec = { type: 'object', properties: { code: { type: 'string' } } } as const;
  const schema = { type: 'object', properties: { spec } } as const;
  return defineModel({ gvk: 'things.example.com/v1/Wrapped', plural: 'wraps', schema, indexes: ['spec.code'] });
}
