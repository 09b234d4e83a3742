import type { Context } from 'koa';
import { refusalOf } from '../../audit/audit-event.ts';
import type { AuditedResponse, AuditMoment } from '../../audit/audit-event.ts';
import type { AuditDecision, AuditStage } from '../../audit/audit-policy.ts';
import type { AuditTrail } from '../../audit/audit-trail.ts';
import { recordedUri } from '../../audit/secret-bodies.ts';
import { isOpenPath, withoutTrailingSlash } from '../pages/health.ts';
import { issuerPath } from '../pages/issuer-path.ts';
import { askedOf } from '../request/resource-path.ts';
import { impersonatorOf, knownCaller } from '../request/request-state.ts';
import type { AuditedRequest, AuditNotes } from '../request/request-state.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';
import { bodiesOf } from './audit-bodies.ts';

/** The verbs of requests that only read. */
const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Records logins, logouts, and all requests that need a credential. */
export class RequestAuditor {
  readonly #trail: AuditTrail;
  readonly #proxies: TrustedProxies;

  constructor(trail: AuditTrail, proxies: TrustedProxies) {
    this.#trail = trail;
    this.#proxies = proxies;
  }

  /** Notes that a request has arrived. It is called before all checks. */
  begin(context: Context): void {
    if (!isAudited(context)) return;
    const { clock } = this.#trail;
    const notes = { decision: undefined, claimedUser: undefined, body: undefined, annotations: undefined };
    context.state.audited = { notes, receivedMs: clock.now(), sinceMs: clock.monotonicMs() };
  }

  /** Records the response, or the error. It is called before an error is converted to a response. */
  end(context: Context, failure: { readonly error: unknown } | undefined): void {
    const { audited } = context.state;
    if (audited === undefined) return;
    if (failure !== undefined) this.#complete(context, audited, refusalOf(failure.error));
    else if (context.respond === false && !context.state.outgoing.closed) this.#follow(context, audited);
    else this.#complete(context, audited, { code: context.status });
  }

  /**
   * Records the arrival of a request, if the policy requires an entry for the arrival. For a request that needs a
   * credential, call this function after authentication. If writes require audit entries, the function records the
   * arrival of each write that the policy audits, even if the policy omits arrivals. For such a write, the function
   * returns a promise that resolves when the entry is written; the write must wait for this promise.
   */
  recordArrival(context: Context): Promise<void> | undefined {
    const { audited: request } = context.state;
    if (request === undefined) return undefined;
    const decision = this.#decide(context);
    if (decision.level === 'None') return undefined;
    const isNeeded = this.#trail.isRequired && !readVerbs.has(askedOf(context).verb);
    const isOmitted = decision.omitStages.includes('RequestReceived');
    if (isOmitted && !isNeeded) return undefined;
    const moment = this.#momentOf(context, request, { decision, stage: 'RequestReceived' });
    if (isNeeded) return this.#trail.recordNow(moment);
    this.#trail.record(moment);
    return undefined;
  }

  /** Records the beginning and the end of a stream, such as a watch. */
  #follow(context: Context, request: AuditedRequest): void {
    this.#record(context, request, { stage: 'ResponseStarted', response: { code: context.res.statusCode } });
    context.res.once('close', () => this.#complete(context, request, { code: context.res.statusCode }));
  }

  #complete(context: Context, request: AuditedRequest, response: AuditedResponse): void {
    this.#record(context, request, { stage: 'ResponseComplete', response });
  }

  #record(
    context: Context,
    request: AuditedRequest,
    { stage, response }: { readonly stage: AuditStage; readonly response: AuditedResponse },
  ): void {
    const decision = this.#decide(context);
    if (decision.level === 'None' || decision.omitStages.includes(stage)) return;
    this.#trail.record(this.#momentOf(context, request, { decision, stage, response }));
  }

  /**
   * Returns the decision of the policy about the user who sent the request, so that users cannot avoid the audit by
   * impersonation.
   */
  #decide(context: Context): AuditDecision {
    return this.#trail.decide(impersonatorOf(context) ?? knownCaller(context), askedOf(context));
  }

  #momentOf(context: Context, { notes, receivedMs, sinceMs }: AuditedRequest, about: About): AuditMoment {
    const { decision, stage, response } = about;
    const { clock } = this.#trail;
    const attributes = askedOf(context);
    const isReceived = stage === 'RequestReceived';
    const hasBodies = !isReceived && decision.level !== 'Metadata';
    const bodies = hasBodies ? bodiesOf(context, { attributes, decision, body: notes.body, response }) : undefined;
    const { user, impersonatedUser } = usersOf(context, notes);
    const { requestObject, responseObject } = bodies ?? {};
    const annotations =
      bodies?.annotations === undefined ? notes.annotations : { ...notes.annotations, ...bodies.annotations };
    return {
      level: decision.level,
      stage,
      auditId: context.state.id,
      uri: recordedUri(context.path, context.querystring),
      userAgent: context.get('User-Agent'),
      address: this.#proxies.addressOf(context),
      attributes,
      // The path of a creation does not contain the object's name, so it comes from the state of the request.
      createdName: response?.code === 201 ? context.state.createdName : undefined,
      user,
      impersonatedUser,
      decision: isReceived ? undefined : notes.decision,
      receivedMs,
      stageMs: isReceived ? receivedMs : clock.now(),
      latencyMs: clock.monotonicMs() - sinceMs,
      response,
      requestObject,
      responseObject,
      annotations,
    };
  }
}

const sessionPaths: ReadonlySet<string> = new Set(['/login', '/logout']);

/** True for requests that need a credential, for logins and for logouts. */
function isAudited({ path, method }: Context): boolean {
  // Most requests are for objects, whose paths begin with /api. All paths that need no credential begin differently.
  if (path.startsWith('/api') || !isOpenPath(path)) return true;
  const plain = withoutTrailingSlash(path);
  return (method === 'POST' && sessionPaths.has(plain)) || issuerPath(plain)?.isCallback === true;
}

interface About {
  readonly decision: AuditDecision;
  readonly stage: AuditStage;
  readonly response?: AuditedResponse;
}

/**
 * Returns the user who sent the request, and the impersonated user. As in Kubernetes, `user` is the one who sent it.
 */
function usersOf(context: Context, notes: AuditNotes): Pick<AuditMoment, 'user' | 'impersonatedUser'> {
  const caller = knownCaller(context);
  const impersonator = impersonatorOf(context);
  return impersonator === undefined
    ? { user: caller ?? notes.claimedUser }
    : { user: impersonator, impersonatedUser: caller };
}
