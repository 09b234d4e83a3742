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

/** In place of an answer, when there is nobody to read it. */
const gone = Symbol('gone');

/** What every call needs of its surroundings. */
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

/** One request at a plugin's handler, until its answer has been sent. */
export class EndpointCall implements Running {
  readonly #parts: EndpointCallParts;
  readonly #surroundings: CallSurroundings;
  #end: { readonly resolve: (value: typeof gone) => void; readonly reject: (error: ApiError) => void } | undefined;
  /** True when no response of the handler is awaited any more. */
  #isOver = false;

  constructor(parts: EndpointCallParts, surroundings: CallSurroundings) {
    this.#parts = parts;
    this.#surroundings = surroundings;
  }

  /**
   * What the handler answers, ready to be written; at once when it answers at once. undefined when the client has gone.
   * @throws ApiError: the handler's own, 500 for any other error (logged), 504 past the deadline, 503 when it is stopped.
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
   * Sets the head. Pieces follow by themselves; a body that is whole is the caller's to send, '' when there is none.
   * @throws ApiError 500 (logged) when it cannot be begun; nothing is written then.
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
      // They are those of an answer that there will not be: an encoding of its body, a cookie.
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
    const stream: AnswerStream = new AnswerStream({
      outgoing,
      source: pieces,
      abort: (reason) => source.abort(reason),
      onError: (err) => this.#log(err, 'an endpoint failed after its answer had begun'),
      onEnd: () => streams.delete(stream),
    });
    streams.add(stream);
    void stream.run();
  }

  stop(reason: Error): void {
    this.#giveUp(new ApiError('ServiceUnavailable', reason.message, { retryAfterSeconds: 1 }));
  }

  /** Waits for the first of these: the handler, its deadline, the client's disconnect, a stop. A later response is released. */
  async #await(answered: PromiseLike<unknown>): Promise<Answer | undefined> {
    const { outgoing, entry } = this.#parts;
    const { clock, storedBytes } = this.#surroundings;
    const { calls } = entry.owner;
    const timer = clock.setTimeout(() => this.#expire(), this.#deadlineMs);
    const ended = new Promise<typeof gone>((resolve, reject) => (this.#end = { resolve, reject }));
    // Made here, since an answer that is given at once needs none of this.
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
    this.#parts.source.abort(new Error('the client has gone'));
  }

  #expire(): void {
    const message = `${this.#parts.entry.label} has not answered within ${this.#deadlineMs / 1000} s`;
    this.#log(undefined, 'an endpoint passed its deadline');
    this.#giveUp(new ApiError('Timeout', message));
  }

  /** Before the signal aborts: what the handler makes of that comes second. */
  #giveUp(error: ApiError): void {
    this.#isOver = true;
    this.#end?.reject(error);
    this.#parts.source.abort(error);
  }

  /** The Status that an error becomes. */
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

/** Logs what went wrong with plugin and route. */
export function logFailure(
  logger: Logger,
  { entry, requestId }: Pick<EndpointCallParts, 'entry' | 'requestId'>,
  { err, message }: { readonly err: unknown; readonly message: string },
): void {
  logger.error({ err, plugin: entry.owner.name, route: entry.label, requestId }, message);
}

/** 500 without inner text. */
export function internalError(requestId: string): ApiError {
  return new ApiError('InternalError', `Internal error occurred; request id ${requestId}`);
}

/** Copies an ApiError of any copy of this package: its fields go over the wire, so they must be well formed. */
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

/** Plugins may be plain JavaScript, and a text be anything. */
function wholeOf(body: unknown): string | Uint8Array {
  if (body === undefined) return '';
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('the body of an answer must be a text or bytes');
}

/** A stream that comes too late is never read, and its producer may hold something. */
function releaseLate(answered: PromiseLike<unknown>, storedBytes: StoredBytes): void {
  Promise.resolve(answered)
    .then((response) => prepareAnswer(response, storedBytes))
    .then(({ body }) => (typeof body === 'object' && 'pieces' in body ? cancelPieces(body.pieces) : undefined))
    // It was an error, or no answer at all, and nobody waits for one.
    .catch(() => undefined);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
