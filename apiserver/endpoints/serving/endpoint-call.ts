import type { ServerResponse as Outgoing } from 'node:http';
import { ApiError, isApiError, statusCodes } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { isPieces, prepareAnswer, setHead, takesBody } from './answer.ts';
import type { Answer, PieceSource } from './answer.ts';
import { AnswerStream, cancelPieces } from './answer-stream.ts';
import type { StoredBytes } from './encode-json.ts';
import type { Running } from './endpoint-owner.ts';
import type { MountedEntry } from './mount.ts';
import type { RequestSource } from './request-source.ts';
import type { HandlerFunction } from '../routes/router.ts';
import type { ServerRequest } from '../routes/server-request.ts';

const defaultDeadlineMs = 30_000;

/** The value that replaces a response when the client has disconnected. */
const gone = Symbol('gone');

/** Dependencies that all calls share. */
export interface CallSurroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storedBytes: StoredBytes;
}

export interface EndpointCallParts {
  readonly entry: MountedEntry;
  readonly handler: HandlerFunction;
  readonly request: ServerRequest;
  readonly source: RequestSource;
  readonly outgoing: Outgoing;
  readonly requestId: string;
}

/** One call of a plugin's handler, from the request until the response has been sent. */
export class EndpointCall implements Running {
  readonly #parts: EndpointCallParts;
  readonly #surroundings: CallSurroundings;
  #end: { readonly resolve: (value: typeof gone) => void; readonly reject: (error: ApiError) => void } | undefined;
  /** True when the call has stopped waiting for the handler, before the handler returned a response. */
  #isOver = false;
  #stream: AnswerStream | undefined;

  constructor(parts: EndpointCallParts, surroundings: CallSurroundings) {
    this.#parts = parts;
    this.#surroundings = surroundings;
  }

  /**
   * Calls the handler, and returns its response, ready to be written. The result is a promise only if the handler
   * returns a promise. It resolves with undefined when the client has disconnected.
   * @throws the handler's ApiError; ApiError 500 for any other error, which is logged; 504 after the deadline; 503 when
   * the call is stopped.
   */
  answer(): Answer | Promise<Answer | undefined> {
    const { handler, request } = this.#parts;
    let answered: unknown;
    try {
      answered = handler(request);
      if (!isThenable(answered)) return prepareAnswer(answered, this.#surroundings.storedBytes);
    } catch (error) {
      throw this.#failure(error);
    }
    return this.#await(answered);
  }

  /**
   * Sets status and headers. If the body is complete, returns it, so that the caller sends it; '' if there is no body.
   * If the body is a stream, starts to send it, and returns undefined. If the body is a stream but the response must
   * have no body, as for HEAD, ends the response, and returns undefined.
   * @throws ApiError 500, which is logged, when the response cannot begin. In this case, no byte has been written.
   */
  begin(answer: Answer): string | Uint8Array | undefined {
    const { outgoing } = this.#parts;
    const { body } = answer;
    try {
      setHead(outgoing, answer);
      if (!isPieces(body)) return wholeOf(body);
      this.#sendPieces(body);
      return undefined;
    } catch (error) {
      // The headers, such as an encoding or a cookie, belong to a response that will not be sent.
      for (const [name] of answer.headers) outgoing.removeHeader(name);
      throw this.#failure(error);
    }
  }

  #sendPieces(pieces: PieceSource): void {
    const { outgoing, source, entry } = this.#parts;
    if (!takesBody(outgoing)) {
      cancelPieces(pieces.pieces);
      outgoing.end();
      return;
    }
    const { streams } = entry.owner;
    const stream: AnswerStream = (this.#stream = new AnswerStream({
      outgoing,
      source: pieces,
      abort: (reason) => source.abort(reason),
      onError: (err) => this.#log(err, 'an endpoint failed after its response had begun'),
      onEnd: () => streams.delete(stream),
    }));
    streams.add(stream);
    void stream.run();
  }

  /** True when the response is being sent piece by piece. */
  get isStreaming(): boolean {
    return this.#stream !== undefined;
  }

  /** Ends the stream of the response, if there is one. */
  stopStream(reason: Error): void {
    this.#stream?.stop(reason);
  }

  stop(reason: Error): void {
    this.#giveUp(new ApiError('ServiceUnavailable', reason.message, { retryAfterSeconds: 1 }));
  }

  /**
   * Waits until the handler responds, its deadline passes, the client disconnects, or the call is stopped. A response
   * that comes later is released.
   */
  async #await(answered: PromiseLike<unknown>): Promise<Answer | undefined> {
    const { outgoing, entry } = this.#parts;
    const { clock, storedBytes } = this.#surroundings;
    const { calls } = entry.owner;
    const timer = clock.setTimeout(() => this.#expire(), this.#deadlineMs);
    const ended = new Promise<typeof gone>((resolve, reject) => (this.#end = { resolve, reject }));
    const onClose = (): void => this.#leave();
    outgoing.on('close', onClose);
    calls.add(this);
    try {
      const first = await Promise.race([answered, ended]);
      return first === gone ? undefined : prepareAnswer(first, storedBytes);
    } catch (error) {
      throw this.#failure(error);
    } finally {
      outgoing.off('close', onClose);
      calls.delete(this);
      clock.clearTimeout(timer);
      if (this.#isOver) releaseLate(answered, storedBytes);
    }
  }

  get #deadlineMs(): number {
    const { definition } = this.#parts.entry;
    return (definition.kind === 'route' ? definition.options.deadlineMs : undefined) ?? defaultDeadlineMs;
  }

  #leave(): void {
    this.#isOver = true;
    this.#end?.resolve(gone);
    this.#parts.source.abort(new Error('the client has disconnected'));
  }

  #expire(): void {
    const message = `${this.#parts.entry.label} has not responded within ${this.#deadlineMs / 1000} s`;
    this.#log(undefined, 'an endpoint has not responded before its deadline');
    this.#giveUp(new ApiError('Timeout', message));
  }

  /**
   * Ends the wait with an error, and then aborts the signal. The abort may cause the handler to throw another error.
   * That error is ignored.
   */
  #giveUp(error: ApiError): void {
    this.#isOver = true;
    this.#end?.reject(error);
    this.#parts.source.abort(error);
  }

  /** Returns the ApiError that the client receives for an error of the handler. */
  #failure(error: unknown): ApiError {
    const known = asApiError(error);
    if (known !== undefined) return known;
    this.#log(error, 'an endpoint failed');
    return internalError(this.#parts.requestId);
  }

  #log(err: unknown, message: string): void {
    logFailure(this.#surroundings.logger, this.#parts, { err, message });
  }
}

/** Logs an error with its plugin and route. */
export function logFailure(
  logger: Logger,
  { entry, requestId }: Pick<EndpointCallParts, 'entry' | 'requestId'>,
  { err, message }: { readonly err: unknown; readonly message: string },
): void {
  logger.error({ err, plugin: entry.owner.name, route: entry.label, requestId }, message);
}

/** Returns a 500 that contains the request's id, and no details of the error. */
export function internalError(requestId: string): ApiError {
  return new ApiError('InternalError', `Internal error occurred; request id ${requestId}`);
}

/**
 * Copies an ApiError that any copy of this package created, and checks its fields, because clients receive them.
 * Returns undefined for any other error.
 */
export function asApiError(error: unknown): ApiError | undefined {
  if (!isApiError(error) || !Object.hasOwn(statusCodes, error.reason)) return undefined;
  const { reason, message, details, causes, retryAfterSeconds } = error;
  return new ApiError(reason, message, {
    cause: error,
    ...(typeof details === 'object' ? { details } : {}),
    ...(Array.isArray(causes) ? { causes } : {}),
    ...(typeof retryAfterSeconds === 'number' ? { retryAfterSeconds } : {}),
  });
}

/** Returns the complete body of a response. Checks its type, since plugins may be plain JavaScript. */
function wholeOf(body: unknown): string | Uint8Array {
  if (body === undefined) return '';
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('the body of a response must be a text or bytes');
}

/**
 * Releases a stream that the handler returns too late. The stream is never read, and its producer may hold resources.
 */
function releaseLate(answered: PromiseLike<unknown>, storedBytes: StoredBytes): void {
  Promise.resolve(answered)
    .then((response) => prepareAnswer(response, storedBytes))
    .then(({ body }) => (typeof body === 'object' && 'pieces' in body ? cancelPieces(body.pieces) : undefined))
    // No caller waits for this response, so errors and wrong values are ignored.
    .catch(() => undefined);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
