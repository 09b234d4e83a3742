import type { ApiObject } from './object.ts';
import type { Status } from '../errors/status.ts';

/**
 * An event of a watch: a change, a bookmark or an error. The object of a bookmark has only apiVersion, kind,
 * metadata.resourceVersion and, in some bookmarks, metadata.annotations.
 */
export type WatchEvent<T extends ApiObject = ApiObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | {
      readonly type: 'BOOKMARK';
      readonly object: {
        readonly apiVersion: string;
        readonly kind: string;
        readonly metadata: {
          readonly resourceVersion: string;
          readonly annotations?: Readonly<Record<string, string>>;
        };
      };
    }
  | { readonly type: 'ERROR'; readonly object: Status };

/** The response to a list. It has the fields of a list in Kubernetes, and the fields of a page in the specification. */
export interface ObjectList<T extends ApiObject = ApiObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  /** The number of the page, from 1. */
  readonly page: number;
  /** The maximum number of items in a page; 0 when the list is not divided into pages. */
  readonly size: number;
  /** The number of matches on all pages. */
  readonly total: number;
  readonly totalPages: number;
  readonly first: boolean;
  readonly last: boolean;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  readonly items: readonly T[];
}
