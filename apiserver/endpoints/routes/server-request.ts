import type { JsonSchema } from '@homeostat/controller-runtime/api';

/** The user of a request. */
export interface RequestUser {
  readonly username: string;
  /** The groups of the user. Every authenticated user is in `system:authenticated`. */
  readonly groups: readonly string[];
  /** An id that distinguishes users who had the same name at different times. */
  readonly uid?: string;
}

/**
 * A request, as a handler receives it. It is immutable: its values are frozen, and methods that change it return
 * another request. The body is read from the connection once. `json`, `text` and `bytes` keep the body in memory, up to
 * 3 MiB, so that each of them may be called again. `body` and `ndjson` read a body of any length piece by piece, at the
 * reader's pace, and only once.
 */
export interface ServerRequest {
  /** The method, in upper case. */
  readonly method: string;
  /** The path as the client sent it: percent-encoded, without the query. */
  readonly path: string;
  /**
   * The headers by lower-case name. As in Node, the values of most repeated headers are joined by commas, those of
   * `cookie` by semicolons; of some headers, such as `content-type`, only the first value remains.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The variables of the route's path, each percent-decoded once. */
  readonly pathVariables: Readonly<Record<string, string>>;
  /** Values that filters have added; see `withAttributes`. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The user of the request. The server has checked that this user may make the request. */
  readonly user: RequestUser;
  /**
   * Aborts when the client disconnects, the deadline passes, the user loses the permission to read the stream, or the
   * plugin stops. When the server stops, streams abort at once, and calls without a response abort after 10 s.
   */
  readonly signal: AbortSignal;
  /**
   * The address of the client, or of the proxy that connects to the server; undefined once the connection is closed.
   */
  readonly remoteAddress: string | undefined;
  /**
   * The body as it arrives. A slow reader slows the client.
   * @throws TypeError when the body has been read; ApiError 415 when it is compressed.
   */
  readonly body: AsyncIterable<Uint8Array>;

  /** Returns a header. The case of the letters in `name` does not matter. */
  header(name: string): string | undefined;
  /** Returns the first value of a query parameter, decoded; '' when it has no value, undefined when it is absent. */
  query(name: string): string | undefined;
  /** Returns every value of a query parameter, in order. */
  queryAll(name: string): readonly string[];
  /** Returns a variable of the path. @throws TypeError when the route's path has no variable of that name. */
  pathVariable(name: string): string;

  /**
   * Reads the body as JSON. If there is a schema, checks the value. Pass the same schema object in each call, because
   * each schema object is compiled once. Rejects with ApiError: 400 for malformed JSON, a duplicate field or more than
   * 64 levels; 413 over 3 MiB, for a JSON object with more than 10,000 fields, or for a great number of values; 415
   * for another media type or an unknown encoding; 422 for a value that violates the schema, with at most 100
   * violations and their fields; 503 when the memory for bodies is full.
   */
  json<T = unknown>(schema?: JsonSchema): Promise<T>;
  /** Reads the body as UTF-8 text. Rejects with ApiError 400, 413, 415 or 503. */
  text(): Promise<string>;
  /** Reads the body, decompressed, into a new array. Rejects with ApiError 400, 413, 415 or 503. */
  bytes(): Promise<Uint8Array>;
  /**
   * Reads one JSON value per line (at most 3 MiB each) as the body arrives; skips blank lines. Throws like `json`, and
   * names the line. Accepts each Content-Type, but throws ApiError 415 for a compressed body.
   */
  ndjson<T = unknown>(schema?: JsonSchema): AsyncIterable<T>;

  /** Returns a request with these attributes added. */
  withAttributes(attributes: Readonly<Record<string, unknown>>): ServerRequest;
  /** Returns a request with these path variables added. A router calls it when a path matches. */
  withPathVariables(variables: Readonly<Record<string, string>>): ServerRequest;
}
