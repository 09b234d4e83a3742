import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JWTPayload } from 'jose';
import type { AccountName, BoundObject } from './account-lookup.ts';

/** The claim that names the owner of a token, as in Kubernetes. */
const privateClaim = 'kubernetes.io';

/** The account of a token, and the object to which the token is bound. */
export interface AccountClaims {
  readonly account: AccountName & { readonly uid: string };
  readonly bound: BoundObject | undefined;
}

/**
 * The kinds for which Kubernetes has a separate claim in a token, which names the object to which the token is bound.
 * The claim `object` names a bound object of any other kind.
 */
const namedKinds: ReadonlyMap<string, string> = new Map([
  ['v1/Secret', 'secret'],
  ['v1/Pod', 'pod'],
  ['v1/Node', 'node'],
]);

export function userNameOf({ namespace, name }: AccountName): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Returns the JWT claims that name the service account of a token, and the object to which the token is bound. */
export function writeClaims({ account, bound }: AccountClaims): JWTPayload {
  const { namespace, name, uid } = account;
  const claims = { namespace, serviceaccount: { name, uid }, ...(bound === undefined ? {} : boundClaim(bound)) };
  return { sub: userNameOf(account), [privateClaim]: claims };
}

function boundClaim({ apiVersion, kind, name, uid }: BoundObject): object {
  const claim = namedKinds.get(`${apiVersion}/${kind}`);
  return claim === undefined ? { object: { apiVersion, kind, name, uid } } : { [claim]: { name, uid } };
}

/**
 * Reads the claims that {@link writeClaims} returns. Returns undefined for claims of another form, which no token of
 * this server has.
 */
export function readClaims(payload: JWTPayload): AccountClaims | undefined {
  const claims = payload[privateClaim];
  if (!isJsonObject(claims)) return undefined;
  const { namespace } = claims;
  const account = named(claims['serviceaccount']);
  if (typeof namespace !== 'string' || account === undefined) return undefined;
  const bound = readBound(claims);
  if (bound === 'malformed' || payload.sub !== userNameOf({ namespace, name: account.name })) return undefined;
  return { account: { namespace, ...account }, bound };
}

function readBound(claims: Readonly<Record<string, unknown>>): BoundObject | 'malformed' | undefined {
  const known = [...namedKinds].find(([, claim]) => claims[claim] !== undefined);
  if (known !== undefined) {
    const [apiVersion = '', kind = ''] = known[0].split('/');
    const object = named(claims[known[1]]);
    return object === undefined ? 'malformed' : { apiVersion, kind, ...object };
  }
  const { object } = claims;
  if (object === undefined) return undefined;
  const name = named(object);
  if (name === undefined || !isJsonObject(object)) return 'malformed';
  const { apiVersion, kind } = object;
  return typeof apiVersion === 'string' && typeof kind === 'string' ? { apiVersion, kind, ...name } : 'malformed';
}

function named(value: unknown): { readonly name: string; readonly uid: string } | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, uid } = value;
  return typeof name === 'string' && typeof uid === 'string' ? { name, uid } : undefined;
}
