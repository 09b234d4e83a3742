import type { Entry } from './entry.ts';

/**
 * A stored object that cannot be read. Its `bytes` have only apiVersion, kind, name, namespace, resourceVersion and,
 * if it is known, uid. It is in no list and no index, since its content is unknown.
 */
export interface BrokenEntry extends Entry {
  /** The problem, without any of the object's content. */
  readonly problem: string;
  /**
   * True when the object cannot be decrypted, for example because a key is missing. No write may replace it, because it
   * can be read again when the encryption configuration is corrected.
   */
  readonly isLocked?: boolean;
  /**
   * True when the object can be read only after a webhook has converted it to another version. Until then, no write may
   * replace it.
   */
  readonly isUnconverted?: boolean;
}

export function isBroken(entry: Entry): entry is BrokenEntry {
  return 'problem' in entry;
}
