/** What is wrong with a text. */
export interface Mistake {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}
