/** A mistake in a text, and the line in which it is. */
export interface Mistake {
  /** The line of the mistake, from 1. */
  readonly line: number;
  readonly message: string;
}

/** The suggested completions of the last word of a text. */
export interface Completion {
  /** The part of the word that is typed already. */
  readonly word: string;
  readonly options: readonly { readonly label: string; readonly apply: string }[];
}
