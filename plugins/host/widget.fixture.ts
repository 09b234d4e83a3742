import { defineModel, IndexSpec, simpleAttribute } from './index.ts';
import type { ApiObject, ModelDescriptor } from './index.ts';

/** A kind for tests of the host. */
export interface Widget extends ApiObject {
  readonly spec?: { readonly size?: number; readonly code?: string };
  readonly status?: { readonly seen?: string };
}

interface WidgetOptions {
  /** Default `Widget`. */
  readonly kind?: string;
  /** True to add an index whose function throws for every object. */
  readonly brokenIndex?: boolean;
}

/** Returns a new model of `widgets.example.com/v1 <Kind>` at each call. */
export function widgetModel({ kind = 'Widget', brokenIndex = false }: WidgetOptions = {}): ModelDescriptor<Widget> {
  const indexFunc = simpleAttribute<Widget>({ kind } as ModelDescriptor<Widget>, () => {
    throw new Error('the index is broken');
  });
  return defineModel({
    group: 'widgets.example.com',
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { size: { type: 'integer', minimum: 1 }, code: { type: 'string' } },
        },
        status: { type: 'object', properties: { seen: { type: 'string' } } },
      },
    },
    indexes: brokenIndex ? [new IndexSpec({ name: 'broken', indexFunc })] : [],
  });
}
