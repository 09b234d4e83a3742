import type { ResourceAttributes } from '../authorization/attributes.ts';
import type { Decision } from '../authorization/authorizer.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { refusalOf } from './audit-event.ts';
import type { AuditedResponse, AuditMoment } from './audit-event.ts';
import type { AuditDecision, AuditStage } from './audit-policy.ts';
import type { AuditTrail } from './audit-trail.ts';
import { recordedBodies, recordedJson } from './recorded-json.ts';
import { hasSecretBody } from './secret-bodies.ts';

/** A write by a client that runs in the server's process. */
export interface AuditedCall {
  readonly user: UserInfo;
  readonly attributes: ResourceAttributes;
  /** The decision that allowed the write; undefined for a client that may do everything. */
  readonly decision: Decision | undefined;
  /** The URI that the write would have as a request over HTTP. */
  readonly uri: string;
  /** The status code that a successful response would have over HTTP. */
  readonly code: number;
  /**
   * Returns the body that the write would have as a request over HTTP; undefined when the body is too large for an
   * entry. The function is called only when the policy records bodies.
   */
  readonly body?: (() => unknown) | undefined;
}

/** Records the writes of clients that run in the server's process, by the same policy as requests. */
export class CallAuditor {
  readonly #trail: AuditTrail;
  readonly #uuid: () => string;

  constructor(trail: AuditTrail, uuid: () => string) {
    this.#trail = trail;
    this.#uuid = uuid;
  }

  /**
   * Runs a write and records it. Rejects with ApiError ServiceUnavailable, before the write, when a required entry
   * cannot be written.
   */
  async run<T extends object | undefined>(call: AuditedCall, write: () => Promise<T>): Promise<T> {
    const trail = this.#trail;
    const decision = trail.decide(call.user, call.attributes);
    if (decision.level === 'None') return write();
    const begun = new BegunCall(call, { decision, auditId: this.#uuid(), trail });
    await begun.arrive();
    try {
      const result = await write();
      begun.complete({ code: call.code }, result);
      return result;
    } catch (error) {
      begun.complete(refusalOf(error), undefined);
      throw error;
    }
  }
}

interface CallParts {
  readonly decision: AuditDecision;
  readonly auditId: string;
  readonly trail: AuditTrail;
}

/** Records the arrival and the end of one {@link AuditedCall}. */
class BegunCall {
  readonly #call: AuditedCall;
  readonly #parts: CallParts;
  readonly #receivedMs: number;
  readonly #sinceMs: number;

  constructor(call: AuditedCall, parts: CallParts) {
    this.#call = call;
    this.#parts = parts;
    this.#receivedMs = parts.trail.clock.now();
    this.#sinceMs = parts.trail.clock.monotonicMs();
  }

  async arrive(): Promise<void> {
    const { trail } = this.#parts;
    const moment = this.#momentOf('RequestReceived');
    if (trail.isRequired) await trail.recordNow(moment);
    else if (this.#isWanted('RequestReceived')) trail.record(moment);
  }

  complete(response: AuditedResponse, answered: unknown): void {
    if (!this.#isWanted('ResponseComplete')) return;
    const bodies = this.#bodiesOf(response, answered);
    this.#parts.trail.record({ ...this.#momentOf('ResponseComplete'), response, ...bodies });
  }

  #isWanted(stage: AuditStage): boolean {
    return !this.#parts.decision.omitStages.includes(stage);
  }

  #momentOf(stage: AuditStage): AuditMoment {
    const { user, attributes, uri, decision } = this.#call;
    const { trail, auditId } = this.#parts;
    const isReceived = stage === 'RequestReceived';
    return {
      level: this.#parts.decision.level,
      stage,
      auditId,
      uri,
      userAgent: '',
      address: undefined,
      attributes,
      user,
      decision: isReceived ? undefined : decision,
      receivedMs: this.#receivedMs,
      stageMs: isReceived ? this.#receivedMs : trail.clock.now(),
      latencyMs: trail.clock.monotonicMs() - this.#sinceMs,
    };
  }

  #bodiesOf({ reason }: AuditedResponse, answered: unknown): Partial<AuditMoment> {
    const { attributes, body } = this.#call;
    const { level, omitManagedFields } = this.#parts.decision;
    const createdName = nameOf(answered);
    if (level === 'Metadata' || hasSecretBody(attributes)) return { createdName };
    const sent = body === undefined ? undefined : recordedJson(body(), omitManagedFields);
    const isWanted = level === 'RequestResponse' && reason === undefined && answered !== undefined;
    return { createdName, ...recordedBodies(sent, isWanted ? recordedJson(answered, omitManagedFields) : undefined) };
  }
}

/** Returns the name of the object in a result, since the server may have chosen the name of a new object. */
function nameOf(answered: unknown): string | undefined {
  const metadata: unknown = typeof answered === 'object' && answered !== null ? Reflect.get(answered, 'metadata') : {};
  const name: unknown = typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
