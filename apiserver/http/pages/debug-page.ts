/** The state that a part of the program shows at `GET /debug/<name>` and `GET /debug/<name>/<item>`, as JSON. */
export interface DebugPage {
  /** Segment of the path: lowercase letters, digits, hyphens. */
  readonly name: string;
  /** The content of `GET /debug/<name>`: an overview of the items. */
  index(): object | Promise<object>;
  /**
   * One item, whose name may have several path segments; undefined when there is none (404). Contains at most `limit`
   * elements of anything that may be long, and the total count. A thrown ApiError is the response.
   */
  item(name: string, limit: number): object | undefined;
}
