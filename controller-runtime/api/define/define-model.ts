import { noteDeclaration } from './declaration-stack.ts';
import { envelopeFields, envelopeProperties } from '../schema/envelope.ts';
import type { FieldPath } from '../object/field-path.ts';
import type { FromSchema } from './from-schema.ts';
import type { ResourceOptions } from '../model/gvk-options.ts';
import { IndexSpec } from '../model/index-spec.ts';
import { IndexSpecs } from '../indexes/index-specs.ts';
import type { JsonSchema, SchemaRule } from '../schema/json-schema.ts';
import { makeDescriptor } from './make-descriptor.ts';
import { ModelError } from '../errors/model-error.ts';
import type { GroupVersionKind, ModelDescriptor } from '../model/model.ts';
import type { ModelValidation } from '../model/model-validation.ts';
import { SchemaNormaliser } from '../schema/normalise-schema.ts';
import { referencedName, referenceTo } from '../schema/schema-reference.ts';
import type { ApiObject, NamespacedObject } from '../object/object.ts';
import { pathAttribute } from '../indexes/path-index.ts';
import { resourceKeys } from '../model/gvk-options.ts';
import type { KnownKeywords } from '../schema/known-keywords.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';

/** An index by path; the name of the index is the path. */
export interface PathIndex<P extends string = string> {
  readonly path: P;
  readonly unique?: boolean;
  readonly order?: 'ASC' | 'DESC';
}

/** The declaration of an index: a path, a path with options, or a spec with a function. */
export type IndexDeclaration<T extends ApiObject> = FieldPath<T> | PathIndex<FieldPath<T>> | IndexSpec<T>;

type Scope = ModelDescriptor['scope'];

/** The fields that every object of a kind with the scope `C` has. */
type Envelope<C extends Scope> = C extends 'Namespaced' ? NamespacedObject : ApiObject;

/** The type of objects that a schema of `{ spec, status }` describes. Objects of a Namespaced kind have a namespace. */
export type ObjectOf<S, C extends Scope = 'Cluster'> = Envelope<C> & FromSchema<S> extends infer O extends Envelope<C>
  ? { readonly [K in keyof O]: O[K] }
  : never;

type VersionText = `v${bigint}` | `v${bigint}alpha${bigint}` | `v${bigint}beta${bigint}`;
type GvkText = `${string}/${VersionText}/${Capitalize<string>}` | `${VersionText}/${Capitalize<string>}`;

type Names = GroupVersionKind | { readonly gvk: GvkText };

const pathIndexKeys: readonly string[] = ['path', 'unique', 'order'];

/**
 * Options of {@link defineModel}. The names are either group, version and kind, or `gvk` as `<group>/<version>/<Kind>`.
 */
export type ModelOptions<S, C extends Scope = Scope> = Names &
  Omit<ResourceOptions, 'scope'> & {
    /** The scope of the kind. Default `Cluster`. */
    readonly scope?: C;
    /**
     * The TypeBox schema or plain JSON Schema of an object. The object has the fields `spec` and `status`, or, as in
     * revision 2.9 of the specification, its own fields at the top level.
     */
    readonly schema: S & KnownKeywords<S>;
    readonly indexes?: readonly IndexDeclaration<ObjectOf<S, C>>[];
    /** Rules in CEL about whole objects. In the expressions, `self` is the object. Default none. */
    readonly rules?: readonly SchemaRule[];
    /** A function that checks rules that the schema cannot express. Default none. */
    readonly validate?: ModelValidation<ObjectOf<S, C>>;
  };

/**
 * Declares a model without a class. The schemas of `spec` and `status` become the components `<Kind>Spec` and
 * `<Kind>Status`, and each schema in `$defs` becomes a component, too. `$ref: '#'` and `$ref: '<Kind>'` refer to the
 * model itself.
 * @throws ModelError for an unknown option, for a `gvk` without two or three parts, and for a field of a schema or a
 * path of an index that breaks a rule; the error names the field or the path. Group, version, kind and plural are
 * checked at registration.
 */
export function defineModel<const S extends object, const C extends Scope = 'Cluster'>(
  options: ModelOptions<S, C>,
): ModelDescriptor<ObjectOf<S, C>> {
  const names = namesOf(options);
  const unknown = unknownKeyOf(options, 'gvk' in options ? keysBesideGvk : keysBesideNames);
  if (unknown !== undefined) throw new ModelError(names.kind, 'options', unknown);
  const components = componentsOf(names.kind, withRules(options.schema, options.rules));
  const indexes = indexesOf<ObjectOf<S, C>>(names.kind, components, options.indexes ?? []);
  const { validate } = options;
  return noteDeclaration(
    makeDescriptor<ObjectOf<S, C>>({ ...options, ...names }, { schemaName: names.kind, components, indexes, validate }),
  );
}

const ownKeys = [...resourceKeys, 'schema', 'indexes', 'rules', 'validate'];
const keysBesideGvk: readonly string[] = ['gvk', ...ownKeys];
const keysBesideNames: readonly string[] = ['group', 'version', 'kind', ...ownKeys];

/** Returns the schema with the given rules added after its own rules. */
function withRules(schema: object, rules: readonly SchemaRule[] | undefined): object {
  if (rules === undefined) return schema;
  const own: unknown = Reflect.get(schema, 'x-kubernetes-validations');
  const others: readonly unknown[] = Array.isArray(own) ? own : [];
  return { ...schema, 'x-kubernetes-validations': [...others, ...rules] };
}

function namesOf(options: Names): GroupVersionKind {
  if (!('gvk' in options)) return { group: options.group, version: options.version, kind: options.kind };
  const parts = options.gvk.split('/');
  const [group = '', version = '', kind = ''] = parts.length === 2 ? ['', ...parts] : parts;
  if (parts.length < 2 || parts.length > 3) {
    throw new ModelError(options.gvk, 'gvk', 'must be <group>/<version>/<Kind>');
  }
  return { group, version, kind };
}

function componentsOf(kind: string, schema: object): Readonly<Record<string, JsonSchema>> {
  const normaliser = new SchemaNormaliser(kind, kind);
  const root = rootOf(normaliser, kind, schema);
  const { properties = {} } = root;
  for (const field of envelopeFields) {
    if (Object.hasOwn(properties, field))
      throw new ModelError(kind, `${kind}.${field}`, 'is a field of every object and may not be declared');
  }
  const components: Record<string, JsonSchema> = Object.fromEntries(normaliser.definitions);
  const fields = Object.entries(properties).map(
    ([field, value]) => [field, hoist(components, { kind, field, schema: value })] as const,
  );
  components[kind] = {
    ...root,
    properties: { ...envelopeProperties, ...Object.fromEntries(fields) },
  };
  return components;
}

/**
 * Returns the schema of the object itself. A Cyclic of TypeBox is a reference to one of its own definitions; this
 * function resolves the reference.
 */
function rootOf(normaliser: SchemaNormaliser, kind: string, schema: object): JsonSchema {
  const normal = normaliser.normalise(schema, kind);
  const root = normal.$ref === undefined ? normal : normaliser.definitions.get(referencedName(normal.$ref) ?? '');
  if (root?.type !== 'object')
    throw new ModelError(kind, 'schema', 'must be the schema of an object, with properties such as spec and status');
  return root;
}

interface Hoisted {
  readonly kind: string;
  readonly field: string;
  readonly schema: JsonSchema;
}

/**
 * Moves the schema of spec or status to the named components, as if a class declared it, and returns a reference to it.
 * Returns the schema itself for any other field, and for a schema without properties.
 */
function hoist(components: Record<string, JsonSchema>, { kind, field, schema }: Hoisted): JsonSchema {
  if ((field !== 'spec' && field !== 'status') || schema.properties === undefined) return schema;
  const name = `${kind}${field === 'spec' ? 'Spec' : 'Status'}`;
  if (Object.hasOwn(components, name)) {
    throw new ModelError(
      kind,
      `${kind}.${field}`,
      `the schema of this field gets the name "${name}", which a schema in $defs already has; rename that schema, or refer to it`,
    );
  }
  components[name] = schema;
  return { $ref: referenceTo(name) };
}

function indexesOf<T extends ApiObject>(
  kind: string,
  components: Readonly<Record<string, JsonSchema>>,
  declarations: readonly IndexDeclaration<T>[],
): readonly IndexSpec<T>[] {
  const given: unknown = declarations;
  if (!Array.isArray(given)) throw new ModelError(kind, 'indexes', 'must be a list of paths and specs');
  const specs = new IndexSpecs<T>(kind);
  for (const declaration of declarations) {
    if (typeof declaration === 'object' && 'indexFunc' in declaration) specs.add(declaration);
    else
      specs.add(pathIndex<T>(kind, components, typeof declaration === 'string' ? { path: declaration } : declaration));
  }
  return specs.list();
}

function pathIndex<T extends ApiObject>(
  kind: string,
  components: Readonly<Record<string, JsonSchema>>,
  index: PathIndex,
): IndexSpec<T> {
  const { path, ...options } = index;
  const unknown = unknownKeyOf(index, pathIndexKeys);
  if (unknown !== undefined) throw new ModelError(kind, `index ${path}`, unknown);
  try {
    return new IndexSpec<T>({ ...options, name: path, indexFunc: pathAttribute<T>(components, kind, path) });
  } catch (error) {
    if (error instanceof RangeError) throw new ModelError(kind, `index ${path}`, error.message);
    throw error;
  }
}
