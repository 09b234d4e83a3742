import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { Metrics } from '@homeostat/controller-runtime/telemetry';
import { answerError } from './error-responses.ts';
import type { RequestAuditor } from './guards/audit-requests.ts';
import type { EndpointParts } from './pages/endpoint-routes.ts';
import { handleInSpan, RequestObserver } from './observe-requests.ts';
import { BodyRelease } from './request/release-bodies.ts';
import type { TrustedProxies } from './request/trusted-proxies.ts';
import type { AnswerMemory } from './response/answer-memory.ts';
import type { Handle } from './response/lean-koa.ts';
import { makeReadable } from './response/readable-answer.ts';
import { sendLargeAnswer } from './response/large-answers.ts';

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
 * The work before and after each request, whatever handles it. It gives the request an id, counts and audits it,
 * releases its memory and its seats, and turns its error into a response. It is one function, since a middleware of its own
 * for each of these costs a get 1 µs of 25.
 */
export function aroundRequests(parts: AroundParts, auditor: RequestAuditor | undefined, handle: Handle): Handle {
  const observer = new RequestObserver(parts.metrics, parts.clock);
  const bodies = new BodyRelease(parts.bodies.memory, parts.proxies);
  const turnEnd = new TurnEnd();

  return async function answerRequest(context): Promise<void> {
    // The id links a response to the log: the client's when it is well formed, otherwise a new one.
    const given = context.headers['audit-id'];
    const id = typeof given === 'string' && requestIdForm.test(given) ? given : parts.uuid();
    context.state.id = id;
    context.set('Audit-Id', id);
    const end = context.method === 'GET' ? turnEnd.ofThis() : undefined;
    const observed = observer.begin(context);
    let failure = await handleInSpan(context, async () => {
      auditor?.begin(context);
      await bodies.around(context, handle);
      if (context.method === 'GET') makeReadable(context);
      const large = sendLargeAnswer(context, parts.memory);
      if (large !== undefined) await large;
    });
    observer.end(context, observed, failure);
    if (end !== undefined) await end;
    try {
      auditor?.end(context, failure);
    } catch (error) {
      failure = { error };
    }
    if (failure !== undefined) answerError(context, failure.error, parts.logger);
  };
}

/**
 * Sends responses that are ready in the same turn of the event loop as their requests together, at the end of the turn:
 * a client with many connections wakes once, not for each response. (Gets on 64 connections: 38k/s instead of 30k/s.) A
 * slower response is sent as soon as it is ready. Responses to writes are not delayed, because they come together after
 * their commit (a delay would cost 4 % of creations on 64 connections).
 */
class TurnEnd {
  #ending: Promise<void> | undefined;

  /** Returns the end of this turn. */
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

const requestIdForm = /^[A-Za-z0-9._-]{1,64}$/;
