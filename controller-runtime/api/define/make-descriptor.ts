import { freezeDeep } from '../base/freeze-deep.ts';
import type { GvkOptions } from '../model/gvk-options.ts';
import type { IndexSpec } from '../model/index-spec.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { ModelDescriptor } from '../model/model.ts';
import type { ModelValidation } from '../model/model-validation.ts';
import type { ApiObject } from '../object/object.ts';

/** The parts of a descriptor that the options of `@GVK` do not contain. */
export interface DescriptorParts<T extends ApiObject> {
  readonly schemaName: string;
  readonly components: Readonly<Record<string, JsonSchema>>;
  readonly indexes: readonly IndexSpec<T>[];
  readonly validate: ModelValidation<T> | undefined;
}

/** Returns a deeply frozen descriptor with all defaults. It keeps no reference to the author's options. */
export function makeDescriptor<T extends ApiObject>(
  options: GvkOptions,
  parts: DescriptorParts<T>,
): ModelDescriptor<T> {
  const { group, version, kind, plural, scope = 'Cluster', nameFormat = 'label' } = options;
  const { subresources = [], shortNames = [], categories = [], printerColumns = [] } = options;
  return freezeDeep({
    group,
    version,
    kind,
    plural,
    singular: options.singular ?? kind.toLowerCase(),
    scope,
    nameFormat,
    subresources: [...subresources],
    ...(options.served === undefined ? {} : { served: options.served }),
    ...(options.deprecated === undefined ? {} : { deprecated: options.deprecated }),
    ...(options.scale === undefined ? {} : { scale: { ...options.scale } }),
    shortNames: [...shortNames],
    categories: [...categories],
    printerColumns: printerColumns.map((column) => ({ ...column })),
    schemaName: parts.schemaName,
    components: parts.components,
    indexes: [...parts.indexes],
    ...(parts.validate === undefined ? {} : { validate: parts.validate }),
  });
}
