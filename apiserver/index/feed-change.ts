import type { Entry } from './entry.ts';

/** One change of one object. */
export type FeedChange =
  | { readonly type: 'ADDED'; readonly revision: number; readonly entry: Entry; readonly previous?: undefined }
  | {
      readonly type: 'MODIFIED' | 'DELETED';
      readonly revision: number;
      /** The new state. For DELETED, it is the last state, with the revision of the deletion. */
      readonly entry: Entry;
      /** The state before the change. */
      readonly previous: Entry;
    };
