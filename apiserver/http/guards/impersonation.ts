import { ApiError } from '@homeostat/controller-runtime/api';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import type { ResourceAttributes } from '../../authorization/attributes.ts';
import { anonymous, authenticatedGroup } from '../../identity/user-info.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import { clip } from '../../registry/object/resource-errors.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { callerOf, setImpersonated } from '../request/request-state.ts';

/** The prefix of all headers for impersonation. It is in lower case, like the names of headers in Node. */
export const impersonationPrefix = 'impersonate-';
const extraPrefix = `${impersonationPrefix}extra-`;

/**
 * The maximum number of groups and extra values in the headers, because each of them needs a decision of the
 * authorizer.
 */
const maxValues = 100;

/** The user as whom a request is to run, from its headers. */
interface Wanted {
  readonly username: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/**
 * Lets a request run as another user (`kubectl --as`). The user who sends the request needs the permission to
 * `impersonate` the other user, each group, the uid and each extra value. If any of these permissions is missing, the
 * request is refused (403). The names of headers and resources are those of Kubernetes.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
export async function impersonate(context: Context, permissions: RequestPermissions): Promise<void> {
  await permissions.reach(context);
  const wanted = readHeaders(context.req);
  for (const attributes of neededFor(wanted)) permissions.require(context, attributes);
  setImpersonated(context, userOf(wanted, callerOf(context)));
}

/**
 * Reads the headers for impersonation. Any other header that begins with `Impersonate-` is refused, because the client
 * may have sent it to reduce its permissions. @throws ApiError BadRequest for headers for impersonation that are
 * unknown, repeated or too many, or that name no user
 */
function readHeaders({ headersDistinct }: IncomingMessage): Wanted {
  const extra = new Map<string, readonly string[]>();
  const known: Record<string, readonly string[]> = {};
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    if (name.startsWith(extraPrefix)) extra.set(decoded(name.slice(extraPrefix.length)), values);
    else if (name.startsWith(impersonationPrefix)) known[name.slice(impersonationPrefix.length)] = values;
  }
  const { user = [], uid = [], group: groups = [], ...unknown } = known;
  const [stranger] = Object.keys(unknown);
  if (stranger !== undefined) throw badHeader(`the header ${header(impersonationPrefix + stranger)} is unknown`);
  const [username = ''] = user;
  if (username === '') throw badHeader('a request that names groups, a uid or extra values needs Impersonate-User');
  if (user.length > 1 || uid.length > 1) throw badHeader('Impersonate-User and Impersonate-Uid may be sent only once');
  if (groups.length + [...extra.values()].flat().length > maxValues)
    throw badHeader(`at most ${maxValues} groups and extra values can be impersonated`);
  return { username, uid: uid[0], groups, extra };
}

function badHeader(problem: string): ApiError {
  return new ApiError('BadRequest', `impersonation: ${problem}`);
}

/**
 * Decodes the key of an extra value, which clients percent-encode. A key that is not valid percent-encoding is used
 * unchanged.
 */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

const serviceAccountForm = /^system:serviceaccount:([^:]+):([^:]+)$/;

function neededFor({ username, uid, groups, extra }: Wanted): readonly ResourceAttributes[] {
  const [, namespace, name] = serviceAccountForm.exec(username) ?? [];
  return [
    name === undefined ? asked('users', username) : { ...asked('serviceaccounts', name), namespace },
    ...groups.map((group) => asked('groups', group)),
    ...(uid === undefined ? [] : [{ ...asked('uids', uid), group: authenticationGroup }]),
    ...[...extra].flatMap(([subresource, values]) =>
      values.map((value) => ({ ...asked('userextras', value), group: authenticationGroup, subresource })),
    ),
  ];
}

const authenticationGroup = 'authentication.k8s.io';

function asked(resource: string, name: string): ResourceAttributes {
  return { isResource: true, verb: 'impersonate', group: '', version: 'v1', resource, name };
}

/**
 * Returns the user as whom the request runs. Open streams of the request end when the original user's credential is no
 * longer valid.
 */
function userOf({ username, uid, groups, extra }: Wanted, { isValid }: UserInfo): UserInfo {
  return {
    username,
    groups: withKnownGroups(username, groups),
    ...(uid === undefined ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
    ...(isValid === undefined ? {} : { isValid }),
  };
}

/**
 * Adds the groups that Kubernetes adds. A service account without groups gets the groups of service accounts. If the
 * groups then include neither `system:authenticated` nor `system:unauthenticated`, the anonymous user gets
 * `system:unauthenticated`, and every other user gets `system:authenticated`.
 */
function withKnownGroups(username: string, given: readonly string[]): readonly string[] {
  const [, namespace] = serviceAccountForm.exec(username) ?? [];
  const isAccount = namespace !== undefined && given.length === 0;
  const groups = isAccount ? ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] : given;
  const [unauthenticated = ''] = anonymous.groups;
  if (groups.includes(authenticatedGroup) || groups.includes(unauthenticated)) return groups;
  return [...groups, username === anonymous.username ? unauthenticated : authenticatedGroup];
}

/** Returns the name of a header as the documentation of Kubernetes writes it, such as `Impersonate-User`. */
function header(name: string): string {
  return clip(name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()));
}
