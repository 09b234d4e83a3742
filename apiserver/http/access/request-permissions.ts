import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import { forbidden } from '../../authorization/forbidden.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { callerOf, impersonatorOf, setCaller } from '../request/request-state.ts';
import type { RequestGrant } from '../request/request-state.ts';
import { credentialCheck } from './credential-check.ts';
import type { CredentialCheck } from './credential-check.ts';
import { noteCurrent } from './current.ts';

/** The interval at which credentials are checked. */
const checkMs = 2000;

/**
 * The number of open requests whose permissions or credentials are checked in one turn of the event loop. To check this
 * many requests takes about a millisecond.
 */
const decidedAtOnce = 300;

/** A request whose response takes long: a watch, a stream of an endpoint, an export, a backup or a re-encryption. */
interface OpenRequest {
  readonly grants: readonly RequestGrant[];
  readonly isValid: CredentialCheck;
  readonly end: (error: ApiError) => void;
}

export interface RequestPermissionsParts {
  readonly authenticator: Pick<Authenticator, 'ofRequest'>;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/**
 * Decides what requests may do. When the permission of an open request is withdrawn, the request is ended as soon as
 * this server learns of the change. The credentials of open requests are checked every {@link checkMs}, and a request
 * with an invalid credential is ended.
 */
export class RequestPermissions {
  readonly #parts: RequestPermissionsParts;
  readonly #open = new Set<OpenRequest>();
  #changes = 0;
  #isChecking = false;
  #timer: Timer | undefined;

  constructor(parts: RequestPermissionsParts) {
    this.#parts = parts;
    parts.authorizer.onChange(() => void this.#checkAll());
  }

  /**
   * Returns a promise to await before a decision about the caller; undefined when no wait is needed. When the promise
   * resolves, memory has all writes of roles that were acknowledged before the request. The promise rejects with
   * ApiError Unauthorized when the credential is no longer valid after the wait. While the database does not respond,
   * decisions use the roles in memory.
   */
  reach(context: Context): Promise<void> | undefined {
    const reached = this.#parts.authorizer.reach(callerOf(context));
    return reached?.then(
      () => {
        noteCurrent(context);
        return this.#identifyAgain(context);
      },
      () => undefined,
    );
  }

  /**
   * Authenticates the request again if its user is no longer valid. The user was identified before memory had the last
   * writes, which may have deleted the account or changed its groups.
   */
  #identifyAgain(context: Context): Promise<void> | undefined {
    return callerOf(context).isValid?.() === false ? this.#replaceCaller(context) : undefined;
  }

  async #replaceCaller(context: Context): Promise<void> {
    const isOwn = impersonatorOf(context) === undefined;
    const user = isOwn ? await this.#parts.authenticator.ofRequest(context.req) : undefined;
    if (user === undefined) throw unauthorized();
    setCaller(context, user);
  }

  /**
   * Checks that the caller has a permission, and adds it to the permissions on which the request depends. @throws
   * ApiError Forbidden
   */
  require(context: Context, attributes: Attributes, user: UserInfo = callerOf(context)): void {
    const decision = this.#parts.authorizer.decide(user, attributes);
    const { state } = context;
    if (state.audited !== undefined) state.audited.notes.decision = decision;
    if (!decision.allowed) throw forbidden(user, attributes);
    const grant = { user, attributes };
    state.grants = state.grants === undefined ? [grant] : [...state.grants, grant];
  }

  /**
   * Returns true if the caller has a permission. The request does not depend on this permission: it may continue when
   * the permission is withdrawn.
   */
  allows(context: Context, attributes: Attributes): boolean {
    return this.#parts.authorizer.decide(callerOf(context), attributes).allowed;
  }

  /**
   * Keeps a request open, and calls `end` once, with the reason, when the request may no longer continue: a permission
   * was withdrawn, its credential is no longer valid, or a call of {@link endOf} ends the requests of its user. Stops
   * checking the request when its response is closed.
   * @throws ApiError when a permission is already withdrawn, or the credential is already invalid
   */
  keepOpen(context: Context, end: (error: ApiError) => void): void {
    // The request must end as soon as one of these permissions is withdrawn.
    const { grants = [] } = context.state;
    const isValid = credentialCheck(this.#parts.authenticator, context);
    const problem = isValid() === false ? unauthorized() : this.#problemOf(grants);
    if (problem !== undefined) throw problem;
    // A closed response emits `close` no more, so a request that is added now would never be removed.
    if (context.res.closed) return;
    const request: OpenRequest = { grants, isValid, end };
    this.#open.add(request);
    context.res.once('close', () => this.#forget(request));
    this.#checkLater();
  }

  /** Ends all open requests of the selected users, including requests that run as one of them by impersonation. */
  endOf(selects: (user: UserInfo) => boolean): void {
    for (const request of this.#open) {
      if (request.grants.some(({ user }) => selects(user))) this.#end(request, unauthorized());
    }
  }

  #problemOf(grants: readonly RequestGrant[]): ApiError | undefined {
    const { authorizer } = this.#parts;
    for (const { user, attributes } of grants) {
      if (!authorizer.decide(user, attributes).allowed) return forbidden(user, attributes);
    }
    return undefined;
  }

  /**
   * Decides about all open requests again, some hundreds in each turn of the event loop. If a permission changes in the
   * meantime, it then decides about all open requests once more.
   */
  async #checkAll(): Promise<void> {
    this.#changes += 1;
    if (this.#isChecking) return;
    this.#isChecking = true;
    for (let seen = -1; seen !== this.#changes;) {
      seen = this.#changes;
      await this.#checkOnce();
    }
    this.#isChecking = false;
  }

  async #checkOnce(): Promise<void> {
    // Many objects may change in one turn of the event loop, for example all objects of a file. So the check begins
    // after this turn, once for all these changes.
    await nextTurn();
    let decided = 0;
    for (const request of this.#open) {
      const problem = this.#problemOf(request.grants);
      if (problem !== undefined) this.#end(request, problem);
      decided += 1;
      if (decided % decidedAtOnce === 0) await nextTurn();
    }
  }

  #checkLater(): void {
    if (this.#timer !== undefined || this.#open.size === 0) return;
    const { clock } = this.#parts;
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      void this.#checkCredentials();
    }, checkMs);
    this.#timer.unref?.();
  }

  async #checkCredentials(): Promise<void> {
    let checked = 0;
    for (const request of this.#open) {
      const isValid = request.isValid();
      if (isValid instanceof Promise) isValid.then((still) => still || this.#end(request, unauthorized()), ignore);
      else if (!isValid) this.#end(request, unauthorized());
      checked += 1;
      if (checked % decidedAtOnce === 0) await nextTurn();
    }
    this.#checkLater();
  }

  #end(request: OpenRequest, error: ApiError): void {
    if (!this.#open.has(request)) return;
    this.#forget(request);
    request.end(error);
  }

  #forget(request: OpenRequest): void {
    this.#open.delete(request);
    if (this.#open.size > 0) return;
    this.#parts.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * Ignores the error of a check of an open request's credential. An error, for example of an authenticator that cannot
 * be reached, does not mean that the credential is invalid, so the request is not ended.
 */
function ignore(): void {}

function unauthorized(): ApiError {
  return new ApiError('Unauthorized', 'Unauthorized');
}
