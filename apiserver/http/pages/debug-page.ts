/**
 * A page by which a part of the program shows its state, as JSON: at `GET /debug/<name>` and `GET
 * /debug/<name>/<item>`.
 */
export interface DebugPage {
  /** The name of the page in the path: lowercase letters, digits and hyphens. */
  readonly name: string;
  /** Returns the content of `GET /debug/<name>`: an overview of the items. */
  index(): object | Promise<object>;
  /**
   * Returns the content of `GET /debug/<name>/<item>`: the item whose name is the end of the path, which may have
   * several segments; undefined when there is no such item (404). The result contains at most `limit` elements of each
   * list, and their total number. If this method throws an ApiError, the error is the response.
   */
  item(name: string, limit: number): object | undefined;
}
