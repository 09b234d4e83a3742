import { defineModel } from './index.ts';
import type { ApiObject, ModelDescriptor } from './index.ts';

/** A kind with its fields at the top level, and an index on one of them. */
export function flatModel(): ModelDescriptor<ApiObject & { readonly code?: string }> {
  const schema = { type: 'object', properties: { code: { type: 'string' } } } as const;
  return defineModel({ gvk: 'things.example.com/v1/Flat', plural: 'flats', schema, indexes: ['code'] });
}

/** A kind with its fields in a spec, and an index on one of them. */
export function wrappedModel(): ModelDescriptor<ApiObject & { readonly spec?: { readonly code?: string } }> {
  const spec = { type: 'object', properties: { code: { type: 'string' } } } as const;
  const schema = { type: 'object', properties: { spec } } as const;
  return defineModel({ gvk: 'things.example.com/v1/Wrapped', plural: 'wraps', schema, indexes: ['spec.code'] });
}
