import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { discardRest, readBody } from '../../decode/read-body.ts';

export interface RequestSourceParts {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Without the query. */
  readonly path: string;
  /** Without the question mark. */
  readonly queryString: string;
  readonly bodies: BodyCodec;
}

/** One request on its connection, which all of its immutable views share. Nothing is made before it is asked for. */
export class RequestSource {
  readonly incoming: IncomingMessage;
  readonly path: string;
  readonly #outgoing: ServerResponse;
  readonly #bodies: BodyCodec;
  readonly #queryString: string;
  #query: URLSearchParams | undefined;
  #headers: Readonly<Record<string, string>> | undefined;
  #abort: AbortController | undefined;
  #aborted: Error | undefined;
  #bytes: Promise<Buffer> | undefined;
  #streamed = false;

  constructor({ incoming, outgoing, path, queryString, bodies }: RequestSourceParts) {
    this.incoming = incoming;
    this.path = path;
    this.#outgoing = outgoing;
    this.#queryString = queryString;
    this.#bodies = bodies;
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.#queryString));
  }

  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= frozenHeaders(this.incoming));
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#aborted !== undefined) this.#abort.abort(this.#aborted);
    }
    return this.#abort.signal;
  }

  /** Aborts the signal, made or yet to be made. The first reason stays. */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#abort?.abort(reason);
  }

  header(name: string): string | undefined {
    const value: unknown = this.incoming.headers[name];
    if (typeof value === 'string') return value;
    return Array.isArray(value) ? value.join(', ') : undefined;
  }

  /** The whole body, read once and kept. */
  bytes(): Promise<Buffer> {
    if (this.#streamed) throw new TypeError('the body is being read as a stream');
    return (this.#bytes ??= readBody({ req: this.incoming, res: this.#outgoing }, this.#bodies.memory));
  }

  /** A JSON text of this request, a large one by way of the worker. @throws as {@link BodyCodec.decode} */
  async parse(json: Buffer): Promise<unknown> {
    const source = await this.#bodies.decode(json, 'json', this.#outgoing);
    return source();
  }

  /** Counts the bytes that are kept of a body while it is read piece by piece. @throws ApiError 503 when memory is full */
  hold(bytes: number): void {
    this.#bodies.memory.hold(this.incoming, bytes);
  }

  /** The body as it arrives, once. */
  stream(): AsyncIterable<Buffer> {
    if (this.#bytes !== undefined || this.#streamed) throw new TypeError('the body was read already');
    const encoding = this.header('content-encoding') ?? 'identity';
    if (encoding.toLowerCase() !== 'identity') {
      throw new ApiError('UnsupportedMediaType', 'a body that is read as a stream must have no Content-Encoding');
    }
    this.#streamed = true;
    const { incoming } = this;
    this.#outgoing.once('finish', () => {
      if (incoming.complete) return;
      incoming.removeAllListeners('readable');
      discardRest(incoming);
    });
    // To leave the loop early must not cut the connection: the answer still has to go over it.
    return incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  }
}

function frozenHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const copy = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) copy[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return Object.freeze(copy);
}
