/** What a part of the program shows of itself at `GET /debug/<name>` and `GET /debug/<name>/<item>`, as JSON. */
export interface DebugPage {
  /** Segment of the path: lowercase letters, digits, hyphens. */
  readonly name: string;
  /** What there is. */
  index(): object;
  /**
   * One item, whose name may be several segments of the path; undefined when there is none (404). Holds at most `limit`
   * of whatever may be many, and says how many there are. A thrown ApiError is the answer.
   */
  item(name: string, limit: number): object | undefined;
}
