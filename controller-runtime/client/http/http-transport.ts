import { ApiError, isApiError } from '../../api/index.ts';
import type { Clock, Logger } from '../../api/index.ts';
import { sleep } from '../../clock/sleep.ts';
import { traceHeaders } from '../../telemetry/tracing.ts';
import { linkAbort } from '../abort.ts';
import { bodyOf, readText } from './bounded-body.ts';
import { errorOfResponse } from './response-error.ts';

/** The maximum number of retries after the first attempt, as in kubectl. */
const maxRetries = 10;
/** The longest wait that a server may request; if it requests more, the call rejects with the server's error. */
const maxRetryAfterSeconds = 60;
/**
 * The maximum size of a response. It is only a guard, since lists come in chunks, and is below the size of V8's longest
 * string (512 MiB).
 */
const maxAnswerBytes = 256 * 1024 * 1024;

export interface TransportParts {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestTimeoutMs: number;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each response with its code, or with `<error>`. */
  readonly onAnswer?: (method: string, code: string) => void;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path, which begins with a slash and contains no character that needs escaping. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  /** Default application/json. */
  readonly contentType?: string;
  /** Headers added to those of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: that of the transport's headers, or else application/json. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends requests to one server. A request rejects with ApiError, or with the signal's reason after the signal has
 * aborted. The error is Timeout when no response comes in time, and ServiceUnavailable, with its cause, when there is
 * no connection.
 */
export class HttpTransport {
  readonly #parts: TransportParts;
  readonly #base: string;

  constructor(parts: TransportParts) {
    this.#parts = parts;
    this.#base = new URL(parts.url).href.replace(/\/+$/, '');
  }

  /**
   * Sends a request; resolves with the JSON value of the response, which is never null and never a scalar. After a 429
   * or 503 with Retry-After it waits for that time and tries again, with every method, because a server that responds
   * so has done nothing. Other failures are not retried.
   */
  async send(request: HttpRequest): Promise<object> {
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#once(request);
      } catch (error) {
        const delayMs = retryDelayMs(error);
        if (delayMs === undefined || retries >= maxRetries) throw error;
        await sleep(this.#parts.clock, delayMs, request.signal);
        request.signal?.throwIfAborted();
      }
    }
  }

  /**
   * Opens a stream that lives until `connection` aborts or the loop over it is left. If its headers do not arrive
   * within requestTimeoutMs, the connection is aborted.
   */
  open(request: HttpRequest, connection: AbortController): Promise<AsyncIterable<Uint8Array>> {
    return this.#exchange(request, connection, async (response) => bodyOf(response));
  }

  async #once(request: HttpRequest): Promise<object> {
    const controller = new AbortController();
    const unlink = linkAbort(controller, request.signal);
    try {
      return await this.#exchange(request, controller, async (response) =>
        parseAnswer(request, await readText(response, maxAnswerBytes)),
      );
    } finally {
      unlink();
    }
  }

  async #exchange<R>(
    request: HttpRequest,
    controller: AbortController,
    read: (response: Response) => Promise<R>,
  ): Promise<R> {
    const { clock, requestTimeoutMs } = this.#parts;
    let late = false;
    const timer = clock.setTimeout(() => {
      late = true;
      controller.abort();
    }, requestTimeoutMs);
    try {
      return await read(await this.#fetch(request, controller.signal));
    } catch (error) {
      if (isApiError(error)) throw error;
      request.signal?.throwIfAborted();
      const line = `${request.method} ${request.path}`;
      if (late) throw new ApiError('Timeout', `${line}: no response within ${requestTimeoutMs} ms`, { cause: error });
      throw new ApiError('ServiceUnavailable', `${line} at ${this.#base}: ${reasonText(error)}`, { cause: error });
    } finally {
      clock.clearTimeout(timer);
    }
  }

  async #fetch(request: HttpRequest, signal: AbortSignal): Promise<Response> {
    const { fetch, headers, logger, clock } = this.#parts;
    const query = request.query?.toString() ?? '';
    const hasBody = request.body !== undefined;
    const answer = fetch(`${this.#base}${request.path}${query === '' ? '' : `?${query}`}`, {
      method: request.method,
      headers: {
        accept: 'application/json',
        ...traceHeaders(),
        ...headers,
        ...request.headers,
        ...(request.accept === undefined ? {} : { accept: request.accept }),
        ...(hasBody ? { 'content-type': request.contentType ?? 'application/json' } : {}),
      },
      ...(hasBody ? { body: JSON.stringify(request.body) } : {}),
      // A redirection that fetch follows would turn writes into reads, so it is reported as an error.
      redirect: 'manual',
      signal,
    });
    const response = await this.#counted(request, answer);
    for (const warning of parseWarnings(response.headers.get('warning'))) {
      logger.warn({ method: request.method, path: request.path, warning }, 'the server warns');
    }
    if (!response.ok) throw await errorOfResponse(request, response, clock);
    return response;
  }

  async #counted(request: HttpRequest, answer: Promise<Response>): Promise<Response> {
    const { onAnswer } = this.#parts;
    try {
      const response = await answer;
      onAnswer?.(request.method, String(response.status));
      return response;
    } catch (error) {
      onAnswer?.(request.method, '<error>');
      throw error;
    }
  }
}

function parseAnswer(request: HttpRequest, text: string): object {
  const message = `${request.method} ${request.path} got a response that is not a JSON object`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ApiError('InternalError', message, { cause });
  }
  if (typeof value !== 'object' || value === null) throw new ApiError('InternalError', message);
  return value;
}

function retryDelayMs(error: unknown): number | undefined {
  if (!isApiError(error)) return undefined;
  const { reason, retryAfterSeconds } = error;
  if (reason !== 'TooManyRequests' && reason !== 'ServiceUnavailable') return undefined;
  if (retryAfterSeconds === undefined || retryAfterSeconds > maxRetryAfterSeconds) return undefined;
  return retryAfterSeconds * 1000;
}

/** Returns the reason of an error of fetch. Its message is only "fetch failed"; the cause has the reason. */
function reasonText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

/**
 * Returns the texts of a `Warning` header (RFC 7234, 5.5), such as `299 - "text", 299 - "text"`. Warnings with other
 * codes come from HTTP caches.
 */
function parseWarnings(header: string | null): readonly string[] {
  const texts: string[] = [];
  for (const match of (header ?? '').matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
    texts.push((match[1] ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  return texts;
}
