import type { NameFormat } from '../object/names.ts';
import type { GroupVersionKind, PrinterColumn, ScaleSubresource } from './model.ts';

/** Names of a model and how its API looks (spec 2.1). Checked at registration. */
export interface ResourceOptions {
  /** Lowercase DNS label; the path segment. */
  readonly plural: string;
  /** Lowercase DNS label. Default the kind in lower case, which is what spec 2.1 calls normal. */
  readonly singular?: string;
  /** Default `Cluster`. */
  readonly scope?: 'Cluster' | 'Namespaced';
  /** Default `label`: names by spec 2.4. `subdomain` allows dots, `path` also colons. */
  readonly nameFormat?: NameFormat;
  /** Default none: one document, status included. */
  readonly subresources?: readonly 'status'[];
  /** The paths of the replicas, for `/<name>/scale`. Default none. */
  readonly scale?: ScaleSubresource;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Columns of tables, besides the name. Default `Age`: the time since creation. */
  readonly printerColumns?: readonly PrinterColumn[];
  /** False when objects may be stored in this version, but are not served in it. Default true. */
  readonly served?: boolean;
  /** True, or the text of the warning in each response in this version. Default false. */
  readonly deprecated?: boolean | string;
}

/** Attributes of `@GVK` (spec 2.1). */
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
