import type { Entry } from './entry.ts';

/**
 * A stored object that cannot be read. Its `bytes` contain only its name. It is in no list and no index, since its
 * content is unknown.
 */
export interface BrokenEntry extends Entry {
  /** The problem, without any of the object's content. */
  readonly problem: string;
  /**
   * True when the object is encrypted and the key is missing. No write may replace it, because it can be read again
   * with the key.
   */
  readonly isLocked?: boolean;
  /**
   * True when a webhook has to convert the object first. No write may replace it, because it can be read after the
   * conversion.
   */
  readonly isUnconverted?: boolean;
}

export function isBroken(entry: Entry): entry is BrokenEntry {
  return 'problem' in entry;
}
