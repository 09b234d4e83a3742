import type { NameFormat } from '../object/names.ts';
import type { GroupVersionKind, PrinterColumn, ScaleSubresource } from './model.ts';

/** Names of a model, and options of its API (section 2.1 of the specification). They are checked at registration. */
export interface ResourceOptions {
  /** The segment of the request path that stands for the kind: a lowercase DNS label. */
  readonly plural: string;
  /** A lowercase DNS label. Default: the kind in lower case, as section 2.1 of the specification recommends. */
  readonly singular?: string;
  /** The scope of the kind. Default `Cluster`. */
  readonly scope?: 'Cluster' | 'Namespaced';
  /**
   * The form of the objects' names. Default `label`: lowercase letters, digits and hyphens (section 2.4 of the
   * specification). `subdomain` also allows dots. `path` allows all printable ASCII characters except spaces, `/` and
   * `%`.
   */
  readonly nameFormat?: NameFormat;
  /** Default: no subresource, so a write of the object also writes its status. */
  readonly subresources?: readonly 'status'[];
  /**
   * The paths of the fields with the numbers of replicas, for `/<name>/scale`. Default: none, so there is no `/scale`.
   */
  readonly scale?: ScaleSubresource;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Columns of tables, besides the name. Default `Age`: the time since creation. */
  readonly printerColumns?: readonly PrinterColumn[];
  /** False when objects may be stored in this version, but are not served in it. Default true. */
  readonly served?: boolean;
  /** True, or the text of a warning. When set, each response in this version has a warning. Default false. */
  readonly deprecated?: boolean | string;
}

/** Attributes of `@GVK` (section 2.1 of the specification). */
export interface GvkOptions extends GroupVersionKind, ResourceOptions {}

/** The keys of {@link ResourceOptions}. */
export const resourceKeys: readonly (keyof ResourceOptions)[] = [
  'plural',
  'singular',
  'scope',
  'nameFormat',
  'subresources',
  'scale',
  'shortNames',
  'categories',
  'printerColumns',
  'served',
  'deprecated',
];
