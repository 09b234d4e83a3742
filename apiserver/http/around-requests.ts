import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { inSpan } from '@homeostat/controller-runtime/telemetry';
import type { Metrics, Span } from '@homeostat/controller-runtime/telemetry';
import type { Context } from 'koa';
import { answerError } from './error-responses.ts';
import type { RequestAuditor } from './guards/audit-requests.ts';
import type { EndpointParts } from './pages/endpoint-routes.ts';
import { describeSpan, RequestObserver, spanOf } from './observe-requests.ts';
import type { Failure } from './observe-requests.ts';
import { addressBlock } from './request/address-block.ts';
import type { TrustedProxies } from './request/trusted-proxies.ts';
import { leastCounted } from './response/answer-memory.ts';
import type { AnswerMemory } from './response/answer-memory.ts';
import type { Handle } from './response/lean-koa.ts';
import { makeReadable } from './response/readable-answer.ts';
import { sendLargeAnswer } from './response/large-answers.ts';
import { setWarnings } from './response/responses.ts';

export interface AroundParts {
  readonly uuid: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly memory: AnswerMemory;
  readonly bodies: EndpointParts['bodies'];
  readonly proxies: TrustedProxies;
}

/**
 * Does the work before and after each request. It gives the request an id, counts and audits it, releases the memory of
 * its body, compresses or splits a large response, and converts an error to a response. It is one function, because
 * with a middleware for each of these parts, a get of 25 µs took 1 µs longer.
 */
export function aroundRequests(parts: AroundParts, auditor: RequestAuditor | undefined, handle: Handle): Handle {
  const observer = new RequestObserver(parts.metrics, parts.clock);
  const turnEnd = new TurnEnd();

  return async function answerRequest(context): Promise<void> {
    // The id connects a response with the log. The client's id is used if it is well formed, otherwise a new one.
    const given = context.headers['audit-id'];
    const id = typeof given === 'string' && requestIdForm.test(given) ? given : parts.uuid();
    context.state.id = id;
    context.set('Audit-Id', id);
    const end = context.method === 'GET' ? turnEnd.ofThis() : undefined;
    const observed = observer.begin(context);
    let failure = await inSpan(
      () => spanOf(context),
      (span) => failureOf(context, span),
    );
    observer.end(context, observed, failure);
    if (end !== undefined) await end;
    try {
      auditor?.end(context, failure);
    } catch (error) {
      failure = { error };
    }
    if (failure === undefined) return;
    if (context.state.warnings.length > 0) setWarnings(context, context.state.warnings);
    answerError(context, failure.error, parts.logger);
  };

  /**
   * Handles a request. Resolves with its error instead of rejecting, because a rejection would mark the span as failed,
   * even when the client made the mistake.
   */
  async function failureOf(context: Context, span: Span | undefined): Promise<Failure | undefined> {
    let failure: Failure | undefined;
    try {
      auditor?.begin(context);
      await (parts.bodies.memory.counts(context.req) ? handleCounted(context, handle, parts) : handle(context));
      if (context.method === 'GET') makeReadable(context);
      const { body } = context;
      // Most responses are small buffers, which need only this check.
      if (!(body instanceof Buffer) || body.length >= leastCounted) await sendLargeAnswer(context, parts.memory);
    } catch (error) {
      failure = { error };
    }
    if (span !== undefined) describeSpan(span, context, failure);
    return failure;
  }
}

/**
 * Delays responses that are ready in the turn of the event loop in which their requests came. They are sent together at
 * the end of the turn, so that a client with many connections wakes once, and not for each response (gets on 64
 * connections: 38k/s instead of 30k/s). A slower response is sent as soon as it is ready. Responses to writes are not
 * delayed, because the writes of one commit are ready at the same time anyway. With a delay, there would be 4 % fewer
 * creations on 64 connections.
 */
class TurnEnd {
  #ending: Promise<void> | undefined;

  /** Returns a promise that resolves at the end of this turn. */
  ofThis(): Promise<void> {
    this.#ending ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#ending = undefined;
        resolve();
      });
    });
    return this.#ending;
  }
}

/**
 * Handles a request whose body may be large. The memory of the body counts for the client's address until the handler
 * has settled and the response is closed. One of the two is not enough: a write continues after its client has
 * disconnected, and an endpoint may stream a response that it makes from the body.
 */
function handleCounted(context: Context, handle: Handle, { bodies, proxies }: AroundParts): Promise<void> {
  const { req, state } = context;
  bodies.memory.nameClient(req, addressBlock(proxies.addressOf(context)));
  const handled = Promise.resolve(context).then(handle);
  void Promise.allSettled([handled, closeOf(state.outgoing)]).then(() => bodies.memory.release(req));
  return handled;
}

function closeOf(response: Context['state']['outgoing']): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed) resolve();
    else response.once('close', () => resolve());
  });
}

const requestIdForm = /^[A-Za-z0-9._-]{1,64}$/;
