import type { Context } from 'koa';
import type { Authenticator } from '../../identity/authenticator.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import { callerOf, impersonatorOf } from '../request/request-state.ts';

/** Returns whether the credential of a request is still valid. */
export type CredentialCheck = () => boolean | Promise<boolean>;

/**
 * Returns a check of a request's credential. If the user who sent the request has a function `isValid`, this function
 * is the check. Otherwise the check authenticates the request again, and returns true if the result is the same user
 * with the same groups.
 */
export function credentialCheck(authenticator: Pick<Authenticator, 'ofRequest'>, context: Context): CredentialCheck {
  const user = impersonatorOf(context) ?? callerOf(context);
  if (user.isValid !== undefined) return user.isValid;
  const { req: request } = context;
  return () => {
    const found = authenticator.ofRequest(request);
    return found instanceof Promise ? found.then((known) => isSame(known, user)) : isSame(found, user);
  };
}

function isSame(found: UserInfo | undefined, user: UserInfo): boolean {
  if (found === user) return true;
  if (found === undefined || found.username !== user.username || found.uid !== user.uid) return false;
  return found.groups.length === user.groups.length && found.groups.every((group) => user.groups.includes(group));
}
