import type { JsonSchema } from '@homeostat/controller-runtime/api';

/**
 * A request as a handler sees it. Immutable: what it holds is frozen, what changes it answers another one. The body is
 * read once from the connection; `json`, `text` and `bytes` keep it, up to 3 MiB, so that each may be called again, while
 * `body` and `ndjson` read it piece by piece as fast as they are asked, however long it is, and once.
 */
export interface ServerRequest {
  /** Upper case. */
  readonly method: string;
  /** The path as the client sent it: percent-encoded, without the query. */
  readonly path: string;
  /** By lower-case name. A repeated header's values are joined by commas (`set-cookie` is none of requests). */
  readonly headers: Readonly<Record<string, string>>;
  /** The variables of the route's path, each percent-decoded once. */
  readonly pathVariables: Readonly<Record<string, string>>;
  /** What filters noted; see `withAttributes`. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Aborts when the client hangs up, the deadline passes, or the plugin or the server stops. */
  readonly signal: AbortSignal;
  /** Address of the other end of the connection; absent when that is gone. */
  readonly remoteAddress: string | undefined;
  /** The body as it arrives. A slow reader slows the client. @throws TypeError when the body was read already; ApiError 415 when it is compressed. */
  readonly body: AsyncIterable<Uint8Array>;

  /** By name, in any case. */
  header(name: string): string | undefined;
  /** The first value of a query parameter, decoded; '' when it stands there without one. */
  query(name: string): string | undefined;
  /** Every value of a query parameter, in order. */
  queryAll(name: string): readonly string[];
  /** @throws TypeError when the route's path has no variable of that name. */
  pathVariable(name: string): string;

  /**
   * The body as JSON: no duplicate fields, at most 64 levels. With a schema (a constant: it is compiled once) the value
   * keeps its rules. Rejects with ApiError: 400 malformed, 413 over 3 MiB, 415 another media type, 422 with every
   * violation and its field.
   */
  json<T = unknown>(schema?: JsonSchema): Promise<T>;
  /** The body as UTF-8 text. Rejects with ApiError 400, 413 or 415. */
  text(): Promise<string>;
  /** The body, decompressed; a copy of the caller's own. Rejects with ApiError 400, 413 or 415. */
  bytes(): Promise<Uint8Array>;
  /** The body as one JSON value a line (at most 3 MiB each), as it arrives. Throws as `json`, naming the line. */
  ndjson<T = unknown>(schema?: JsonSchema): AsyncIterable<T>;

  /** The same request with these attributes as well. */
  withAttributes(attributes: Readonly<Record<string, unknown>>): ServerRequest;
  /** The same request with these variables as well: what a router does when a path matches. */
  withPathVariables(variables: Readonly<Record<string, string>>): ServerRequest;
}
