import { signal } from '@preact/signals';
import type { JsonObject } from '../base/json.ts';
import type { MergeConflict } from '../base/merge.ts';
import type { Mistake } from '../base/mistake.ts';

/** An edit of an object in the console that the person has not saved. */
export interface LeftDraft {
  /** The object that the text describes. While the text is invalid: the object that the last valid text described. */
  readonly value: JsonObject;
  /** The text of the editor. */
  readonly text: string;
  readonly format: 'yaml' | 'json';
  /** The mistake that makes the text invalid; undefined for a valid text. */
  readonly mistake: Mistake | undefined;
  /** The stored object from which the draft began, or the stored object that was last merged into it. */
  readonly base: JsonObject;
  /** Fields that both the person and others changed, and for which the person has not chosen a value yet. */
  readonly conflicts: readonly MergeConflict[];
  /** A sentence about the last merge; empty when nothing was merged. */
  readonly note: string;
}

const drafts = new Map<string, LeftDraft>();

/**
 * The keys of the drafts that are not saved. The drafts are kept when the person goes to another page, until the
 * browser loads the console again.
 */
export const unsaved = signal<ReadonlySet<string>>(new Set());

/** Returns the draft that the person has left without saving it; undefined when there is none. */
export const leftDraft = (key: string): LeftDraft | undefined => drafts.get(key);

/**
 * Keeps the changes that a person has typed into an editor and not saved, for when the person comes back to the page.
 * `key` identifies the object that is edited or created. If `draft` is undefined, removes the kept changes.
 */
export function keepDraft(key: string, draft: LeftDraft | undefined): void {
  if (draft === undefined) drafts.delete(key);
  else drafts.set(key, draft);
  if (unsaved.value.has(key) !== drafts.has(key)) unsaved.value = new Set(drafts.keys());
}
