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

/** A column of the tables that show a model's objects, such as those of `kubectl get`. */
export interface PrinterColumn {
  /** The heading. */
  readonly name: string;
  /**
   * The type of the value. `string` also shows values of all other types, as JSON. `date` shows the time that has
   * passed since a time in RFC 3339, `<unknown>` for an empty text, and `<invalid>` for any other text. The cell is
   * empty when the object has no value. Except in `string` columns, it is also empty for a value of another type.
   */
  readonly type: 'integer' | 'number' | 'string' | 'boolean' | 'date';
  /**
   * The JSONPath of the value, such as `.spec.age` or `.status.conditions[?(@.type=="Ready")].status`. The first of
   * several values is shown.
   */
  readonly jsonPath: string;
  readonly description?: string;
  /**
   * The format of the value: one that Kubernetes allows for columns, such as `int32` or `date-time`. A table contains
   * it for clients. The content of the cells does not depend on it.
   */
  readonly format?: string;
  /** A column with priority 0 is always shown, one with a higher priority only in wide output. Default 0. */
  readonly priority?: number;
}

/**
 * The paths of the fields that `/<name>/scale` shows: the desired number of replicas, which a write of `/<name>/scale`
 * sets; the present number; and the label selector. A path is the names of fields, each with a dot before it.
 */
export interface ScaleSubresource {
  /** A path below `.spec`, such as `.spec.replicas`. */
  readonly specReplicasPath: string;
  /** A path below `.status`, such as `.status.replicas`. */
  readonly statusReplicasPath: string;
  /** The path, below `.spec` or `.status`, of a string: the label selector of the replicas. Default: none. */
  readonly labelSelectorPath?: string;
}

/**
 * The common form of a model that was declared by a class with `@GVK`, by `defineModel` or by a
 * CustomResourceDefinition. All other code works with this form. It is deeply frozen. `T` is the type of its objects;
 * it exists for the compiler only.
 */
export interface ModelDescriptor<T extends ApiObject = ApiObject> extends GroupVersionKind {
  /** The segment of the request path that stands for the kind, in lower case. */
  readonly plural: string;
  readonly singular: string;
  /** Default `Cluster`, because the specification's models have no namespace. */
  readonly scope: 'Cluster' | 'Namespaced';
  /**
   * The form of the objects' names. `label`, the default: lowercase letters, digits and hyphens (section 2.4 of the
   * specification). `subdomain`: also dots, for kinds whose names are domains. `path`: all printable ASCII characters
   * except spaces, `/` and `%`, for kinds whose names are divided by colons.
   */
  readonly nameFormat: NameFormat;
  /**
   * If the list has `status`, creates and updates of the object ignore the status; only writes at the path `/status`
   * set it. Default: none.
   */
  readonly subresources: readonly 'status'[];
  /** The paths of the fields that `/<name>/scale` shows and sets. Default: none, so the kind has no `/scale`. */
  readonly scale?: ScaleSubresource;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly printerColumns: readonly PrinterColumn[];
  /** Name of the object's own schema in {@link components}, normally the kind. */
  readonly schemaName: string;
  /** All named schemas, including the object's own; a `$ref` is `#/components/schemas/<name>` (OpenAPI v3). */
  readonly components: Readonly<Record<string, JsonSchema>>;
  /** Indexes that the author declared, without the four that every model has. */
  readonly indexes: readonly IndexSpec<T>[];
  /** The validation function of the model. The server calls it for objects that are valid under the schema. */
  readonly validate?: ModelValidation<T>;
  /** False when objects may be stored in this version, but are not served in it. Default true. */
  readonly served?: boolean;
  /**
   * If set, each response in this version has a warning: this text, or for `true` the text that Kubernetes uses.
   * Default false.
   */
  readonly deprecated?: boolean | string;
  /**
   * Other versions of the kind. Objects are stored in the version of this descriptor, and converted to and from the
   * others. Default none.
   */
  readonly versions?: readonly ModelVersion<T>[];
  /** This property is always absent at run time. It exists so that the compiler can infer T. */
  readonly objectType?: T;
}

/**
 * The result of a conversion: the fields of an object. The server sets apiVersion and kind. In metadata, a conversion
 * can change only labels and annotations. If the result has no metadata, the metadata stays unchanged.
 */
export type Converted<T extends ApiObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & Partial<ApiObject>;

/**
 * The two functions that convert objects of one version to the stored version (`S`), and back. Declare both, or neither
 * if the versions have the same fields. Each function receives a deeply frozen object and returns its result
 * synchronously. The server copies the result, sets the defaults of the target version's schema, and removes fields
 * that this schema does not know; it does the same if there are no functions. When a function throws, a write is
 * refused (422) and a read fails (500), with the message of the error.
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
  /**
   * The model of this version. It declares no indexes: the indexes of the stored version also serve all other versions.
   */
  readonly model: ModelDescriptor<V>;
}

/** A class that extends AbstractExtension and has the decorator `@GVK`. */
export type ExtensionClass<T extends ApiObject = ApiObject> = new () => T;

/** A model, as functions of the API accept it: its class, or its descriptor. */
export type Model<T extends ApiObject = ApiObject> = ModelDescriptor<T> | ExtensionClass<T>;

/** The type of the objects of a model: `FromModel<typeof Person>`. */
export type FromModel<M extends Model> = M extends Model<infer T> ? T : never;

/** `<group>/<version>`; the version alone for the core group. */
export function apiVersionOf(gv: { readonly group: string; readonly version: string }): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`;
}
