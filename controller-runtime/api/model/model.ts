import type { NameFormat } from '../object/names.ts';
import type { ApiObject } from '../object/object.ts';
import type { IndexSpec } from './index-spec.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { ModelValidation } from './model-validation.ts';

/** Group, version and kind of a model. */
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A column of the tables that a model's objects are shown in, such as those of `kubectl get`. */
export interface PrinterColumn {
  /** The heading. */
  readonly name: string;
  /**
   * The cell stays empty when the object has no value; `string` shows numbers and JSON as text, and `date` shows the
   * time that has passed since the value.
   */
  readonly type: 'integer' | 'number' | 'string' | 'boolean' | 'date';
  /**
   * The JSONPath of the value, such as `.spec.age` or `.status.conditions[?(@.type=="Ready")].status`. The first of
   * several values is shown.
   */
  readonly jsonPath: string;
  readonly description?: string;
  /** `int32`, `date-time` and so on, as Kubernetes names them; for clients. */
  readonly format?: string;
  /** 0 is always shown; above it only in wide output. Default 0. */
  readonly priority?: number;
}

/**
 * The fields in which objects keep their replicas: `/<name>/scale` shows and sets them. Paths are fields joined by
 * dots.
 */
export interface ScaleSubresource {
  /** A path below `.spec`, such as `.spec.replicas`. */
  readonly specReplicasPath: string;
  /** A path below `.status`, such as `.status.replicas`. */
  readonly statusReplicasPath: string;
  /** Path of the text of a label selector; below `.spec` or `.status`. Default none. */
  readonly labelSelectorPath?: string;
}

/**
 * The common form of a model, whether it is declared by a class with `@GVK`, by `defineModel` or by a
 * CustomResourceDefinition; all other code works with it. Immutable (frozen). `T` is the type of its objects; it
 * exists for the compiler only.
 */
export interface ModelDescriptor<T extends ApiObject = ApiObject> extends GroupVersionKind {
  /** Lowercase; the path segment. */
  readonly plural: string;
  readonly singular: string;
  /** Default `Cluster`: the spec's models have no namespace. */
  readonly scope: 'Cluster' | 'Namespaced';
  /**
   * `label`: spec 2.4 (no dots), the default. `subdomain`: dots too, for kinds whose names are domains. `path`: also
   * colons.
   */
  readonly nameFormat: NameFormat;
  /** With `status` in the list, the main path ignores status on create and update. Default none. */
  readonly subresources: readonly 'status'[];
  /** Default none: no `/scale`. */
  readonly scale?: ScaleSubresource;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly printerColumns: readonly PrinterColumn[];
  /** Name of the object's own schema in {@link components}, normally the kind. */
  readonly schemaName: string;
  /** Every named schema, self-references included; `$ref` is `#/components/schemas/<name>` (OpenAPI v3). */
  readonly components: Readonly<Record<string, JsonSchema>>;
  /** Indexes that the author declared; the four defaults are not among them. */
  readonly indexes: readonly IndexSpec<T>[];
  /** The model's own rules, after those of the schema. */
  readonly validate?: ModelValidation<T>;
  /** False when objects may be stored in this version, but are not served in it. Default true. */
  readonly served?: boolean;
  /** Each response in this version has a warning: this text, or for `true` the text of Kubernetes. Default false. */
  readonly deprecated?: boolean | string;
  /** Other versions of the kind, whose objects are stored in this one. Default none. */
  readonly versions?: readonly ModelVersion<T>[];
  /** Absent at run time: it exists so that the compiler can infer T. */
  readonly objectType?: T;
}

/**
 * The result of a conversion: the fields of an object. The server sets apiVersion and kind. In metadata, only labels
 * and annotations may change; all other fields stay as they are, and so does all metadata when it is left out.
 */
export type Converted<T extends ApiObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & Partial<ApiObject>;

/**
 * Converts objects of one version to the stored version (`S`), and back. Declare both functions or neither; without
 * them, only apiVersion changes. Each receives a deeply frozen object and returns synchronously. The result is
 * copied, gets the defaults of its schema, and loses fields that the schema does not know. When a function throws, a
 * write is refused (422) and a read fails (500), with the message of the error.
 */
export interface Conversion<S extends ApiObject, V extends ApiObject> {
  toStorage?(this: void, object: V): Converted<S>;
  fromStorage?(this: void, object: S): Converted<V>;
}

/** Another version of a kind; see `defineVersions`. */
export interface ModelVersion<S extends ApiObject = ApiObject, V extends ApiObject = ApiObject> extends Conversion<
  S,
  V
> {
  /** The model of this version. It has no indexes: those of the stored version serve all versions. */
  readonly model: ModelDescriptor<V>;
}

/** A class that extends AbstractExtension and bears `@GVK`. */
export type ExtensionClass<T extends ApiObject = ApiObject> = new () => T;

/** A model as calls of the API take it: its class, or its descriptor. */
export type Model<T extends ApiObject = ApiObject> = ModelDescriptor<T> | ExtensionClass<T>;

/** The type of the objects of a model: `FromModel<typeof Person>`. */
export type FromModel<M extends Model> = M extends Model<infer T> ? T : never;

/** `<group>/<version>`; the version alone for the core group. */
export function apiVersionOf(gv: { readonly group: string; readonly version: string }): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`;
}
