import { ApiError, isApiError } from '../../api/index.ts';
import type { Clock, Logger } from '../../api/index.ts';
import { sleep } from '../../clock/sleep.ts';
import { traceHeaders } from '../../telemetry/tracing.ts';
import { linkAbort } from '../abort.ts';
import { bodyOf, readText } from './bounded-body.ts';
import { errorOfResponse } from './response-error.ts';

/** The maximum number of retries after the first attempt, as in kubectl. */
const maxRetries = 10;
/**
 * The longest wait that a server may request. If it requests a longer one, the call rejects with the server's error.
 */
const maxRetryAfterSeconds = 60;
/**
 * The maximum size of a response. Usual responses are far smaller, because lists are read in chunks. The limit is below
 * the size of V8's longest string (512 MiB).
 */
const maxAnswerBytes = 256 * 1024 * 1024;

export interface TransportParts {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestTimeoutMs: number;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each response with its status code, and with `<error>` when there is no response. */
  readonly onAnswer?: (method: string, code: string) => void;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path, which begins with a slash and contains no character that needs escaping. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  /** The header Content-Type. Default application/json. */
  readonly contentType?: string;
  /** Headers of this request, in addition to those of all requests. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The header Accept. Default: that in the transport's headers, or else application/json. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends requests to one server. A request rejects with ApiError, or with the signal's reason after the signal has
 * aborted. The error is Timeout when the whole response does not arrive in time, and ServiceUnavailable, with its
 * cause, when the connection fails.
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
   * or 503 with Retry-After, the client waits for the requested time and sends the request again, also when the request
   * is a write: such a response means that the server has not changed anything. Other failures are not retried.
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
   * Opens a stream that lives until `connection` aborts or the caller leaves the loop over the stream. If the headers
   * of the response do not arrive within requestTimeoutMs, the connection is aborted.
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
      // fetch would turn a redirected write into a read, so a redirect is not followed, but reported as an error.
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

/**
 * Returns the message of an error of fetch, with the message of its cause: the error's own message is only "fetch
 * failed".
 */
function reasonText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

/**
 * Returns the texts of a `Warning` header (RFC 7234, 5.5), such as `299 - "text", 299 - "text"`. Other codes than 299
 * come from HTTP caches, so those warnings are left out.
 */
function parseWarnings(header: string | null): readonly string[] {
  const texts: string[] = [];
  for (const match of (header ?? '').matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
    texts.push((match[1] ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  return texts;
}
