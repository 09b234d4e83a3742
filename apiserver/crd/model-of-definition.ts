import { IndexSpec, pathAttribute } from '@homeostat/controller-runtime/api';
import type {
  ApiObject,
  JsonSchema,
  ModelDescriptor,
  ModelVersion,
  PrinterColumn,
} from '@homeostat/controller-runtime/api';
import { completeNames } from './complete-names.ts';
import type { CustomResourceDefinition, DefinitionSchema, DefinitionVersion } from './definition.ts';

const string: JsonSchema = { type: 'string' };

/**
 * Returns the model of a valid definition: the storage version, the other served versions, and with a conversion
 * webhook also the versions that are not served. The names are checked later, when the model is registered. The model
 * and the definition share the schemas, so a caller that freezes the model also freezes the schemas of the definition.
 */
export function modelOfDefinition(definition: CustomResourceDefinition, convert?: ConvertTo): ModelDescriptor {
  const { versions } = definition.spec;
  const storage = versions.find((version) => version.storage);
  if (storage === undefined) throw new TypeError('a valid definition has a version for storage');
  const model = modelOfVersion(definition, storage);
  // Objects may still be stored in a version that is no longer served. Only a webhook can convert them. So if there is
  // a webhook, the model includes these versions, too.
  const others = versions.filter((version) => (version.served || convert !== undefined) && version !== storage);
  return {
    ...model,
    indexes: indexesOf(model, [storage, ...others.filter(({ served }) => served)]),
    ...(others.length === 0
      ? {}
      : { versions: others.map((each) => versionOf(definition, { each, storage, convert })) }),
  };
}

/** Returns an object in another version. Throws when the conversion webhook has to be called first. */
export type ConvertTo = (object: ApiObject, apiVersion: string) => ApiObject;

interface VersionParts {
  readonly each: DefinitionVersion;
  readonly storage: DefinitionVersion;
  readonly convert: ConvertTo | undefined;
}

function versionOf(definition: CustomResourceDefinition, { each, storage, convert }: VersionParts): ModelVersion {
  const model = modelOfVersion(definition, each);
  if (convert === undefined) return { model };
  const { group } = definition.spec;
  return {
    model,
    toStorage: (object) => convert(object, `${group}/${storage.name}`),
    fromStorage: (object) => convert(object, `${group}/${each.name}`),
  };
}

/** Returns the model of one version, without indexes. */
function modelOfVersion({ spec }: CustomResourceDefinition, version: DefinitionVersion): ModelDescriptor {
  const { group, scope, names } = spec;
  const { kind, plural, singular, shortNames = [], categories = [] } = completeNames(names);
  const { deprecated = false, deprecationWarning = deprecated } = version;
  return {
    group,
    version: version.name,
    kind,
    plural,
    singular,
    scope,
    nameFormat: 'subdomain',
    subresources: version.subresources?.status === undefined ? [] : ['status'],
    ...scaleOf(version),
    shortNames: [...shortNames],
    categories: [...categories],
    printerColumns: (version.additionalPrinterColumns ?? []).map(columnOf),
    schemaName: kind,
    components: { [kind]: rootSchema(version.schema?.openAPIV3Schema ?? { type: 'object' }) },
    indexes: [],
    ...(version.served ? {} : { served: false }),
    ...(deprecated ? { deprecated: deprecationWarning } : {}),
  };
}

/**
 * Returns an index for each selectable field (`spec.size` ...) of the given versions, if the storage version has this
 * field.
 */
function indexesOf(
  { components, kind }: ModelDescriptor,
  versions: readonly DefinitionVersion[],
): readonly IndexSpec[] {
  const paths = new Set(
    versions.flatMap(({ selectableFields = [] }) => selectableFields.map(({ jsonPath }) => jsonPath.slice(1))),
  );
  return [...paths]
    .filter((path) => typeAt(components[kind], path.split('.'))[0] !== undefined)
    .map((path) => new IndexSpec({ name: path, indexFunc: pathAttribute(components, kind, path) }));
}

function scaleOf({ subresources }: DefinitionVersion): Pick<ModelDescriptor, 'scale'> {
  const scale = subresources?.scale;
  if (scale === undefined) return {};
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale;
  return {
    scale: { specReplicasPath, statusReplicasPath, ...(labelSelectorPath === '' ? {} : { labelSelectorPath }) },
  };
}

function columnOf({ name, type, jsonPath, description, format, priority }: PrinterColumn): PrinterColumn {
  return {
    name,
    type,
    jsonPath,
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
    ...(priority === undefined ? {} : { priority }),
  };
}

/**
 * Returns the schema of the whole object, with `apiVersion`, `kind` and `metadata`. In `metadata`, a definition may
 * restrict only `name` and `generateName`.
 */
function rootSchema(schema: DefinitionSchema): JsonSchema {
  const metadata: JsonSchema = {
    ...schema.properties?.['metadata'],
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
  };
  return { ...schema, properties: { ...schema.properties, apiVersion: string, kind: string, metadata } };
}

/** Returns a text that is equal for two models if one can replace the other while the kind is served. */
export function identityOfModel(model: ModelDescriptor): string {
  const { group, kind, plural, singular, scope, indexes, components, versions = [] } = model;
  const types = indexes.map(({ name }) => [name, typeAt(components[kind], name.split('.'))]);
  const names = [model, ...versions.map((each) => each.model)].map(({ version, served }) => [version, served]);
  // A model with a conversion webhook and a model without one cannot replace each other. An informer in the server's
  // process that needs a webhook keeps its own copy of the objects; other informers read the server's cache. Informers
  // choose between copy and cache only when the kind is opened, and a replacement does not open the kind again.
  const isConverted = versions.some(({ toStorage }) => toStorage !== undefined);
  return JSON.stringify([group, names, kind, plural, singular, scope, types, isConverted]);
}

/** Returns the type and the format of a field; both are undefined when the schema does not have the field. */
function typeAt(schema: JsonSchema | undefined, [first, ...rest]: readonly string[]): readonly unknown[] {
  if (first !== undefined) return typeAt(schema?.properties?.[first], rest);
  return [schema?.type, schema?.format];
}
