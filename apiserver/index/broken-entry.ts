import type { Entry } from './entry.ts';

/**
 * A stored object that cannot be read. Its `bytes` hold only its name, and it has no index values. It is in no list
 * or index, since its content is unknown.
 */
export interface BrokenEntry extends Entry {
  /** The problem, without any of the object's content. */
  readonly problem: string;
  /** True when it is encrypted and the key is missing: with the key it can be read again, so nothing may replace it. */
  readonly isLocked?: boolean;
  /** True when a webhook has to convert it first: then it can be read again, so nothing may replace it. */
  readonly isUnconverted?: boolean;
}

export function isBroken(entry: Entry): entry is BrokenEntry {
  return 'problem' in entry;
}
