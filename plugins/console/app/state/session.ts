import { signal } from '@preact/signals';
import { isObject, textOf } from '../base/json.ts';
import { browserClock } from '../base/time.ts';
import { Api } from '../api/api.ts';
import { toFailure } from '../api/failure.ts';
import { coversPath, mayDo, readablePathsOf, rulesOf } from '../api/rights.ts';
import type { Rule } from '../api/rights.ts';
import type { Resource } from '../api/resources.ts';
import { pageNamespace } from './route.ts';

/** False while requests get no response. */
export const isReachable = signal(true);
/** True once the server has refused the session, until the person logs in again or closes the login dialog. */
export const isSessionOver = signal(false);
/** The number of logins. Watches start again when it changes. */
export const sessionNumber = signal(0);
/** The user's name; empty until it is known. */
export const userName = signal('');
/**
 * The user's permissions in the namespace of the page, or in `default` if the page has none; undefined until they are
 * known. Until then, the page offers all actions.
 */
const rules = signal<readonly Rule[] | undefined>(undefined);
/** The paths that the user may get; none until they are known. */
const readablePaths = signal<readonly string[]>([]);

/**
 * Sends requests to the server. The server's URL is derived from the console's URL, one level above it, so that both
 * have the same prefix if a proxy adds one.
 */
export const api = new Api({
  base: new URL('../', document.baseURI).href,
  fetch: (url, init) => fetch(url, init),
  onUnauthorized: () => {
    isSessionOver.value = true;
  },
  onForbidden: () => refreshRights(),
  onReachable: (value) => {
    isReachable.value = value;
  },
});

const reviews = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';

/** Reads the user and the user's permissions. After an error, the last result stays. */
export async function loadSession(): Promise<void> {
  const namespace = pageNamespace.value;
  try {
    const spec = { namespace: namespace || 'default' };
    const [self, review] = await Promise.all([
      api.call('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        method: 'POST',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      }),
      api.call(reviews, {
        method: 'POST',
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec },
      }),
    ]);
    const status = isObject(self.body) ? self.body.status : undefined;
    const info = isObject(status) ? status.userInfo : undefined;
    userName.value = isObject(info) ? textOf(info.username) : '';
    // If another page has been opened meanwhile, that page loads the rules of its own namespace.
    if (namespace !== pageNamespace.value) return;
    setIfNew(rules, rulesOf(review.body));
    setIfNew(readablePaths, readablePathsOf(review.body));
  } catch {
    // A failed request is not reported here, because the console shows the state of the connection elsewhere.
  }
}

/** Keeps the old value if the new one is equal, so that no component reads its data again. */
function setIfNew<T>(kept: { value: T }, found: T): void {
  if (JSON.stringify(found) !== JSON.stringify(kept.value)) kept.value = found;
}

/** The shortest time between two readings of the permissions, when many requests are refused. */
const refreshMs = 5000;
let refreshedMs = 0;
let isRefreshing = false;

/** Reads the permissions again after a refusal, so that the buttons of actions that are no longer allowed disappear. */
function refreshRights(): void {
  if (isRefreshing) return;
  isRefreshing = true;
  browserClock.after(Math.max(0, refreshedMs + refreshMs - browserClock.now()), () => {
    refreshedMs = browserClock.now();
    isRefreshing = false;
    void loadSession();
  });
}

/** False only if it is known that the user lacks the permission. */
export function may(verb: string, resource: Pick<Resource, 'group' | 'plural'>, name?: string): boolean {
  const known = rules.value;
  if (known === undefined) return true;
  const request = { verb, group: resource.group, resource: resource.plural };
  return mayDo(known, name === undefined ? request : { ...request, name });
}

/** True only if it is known that the user may get the path, such as a page of `/debug`. */
export function mayGet(path: string): boolean {
  return coversPath(readablePaths.value, path);
}

/** The resource that a user must be allowed to list in order to search the audit log. */
export const auditEntries = { group: 'audit.internal', plural: 'entries' } as const;

/**
 * Begins a session with a user and password, or a token. Resolves with the problem, or with undefined after a success.
 */
export async function logIn(credential: Readonly<Record<string, string>>): Promise<string | undefined> {
  try {
    await api.call('/login', { method: 'POST', body: credential });
  } catch (error) {
    return toFailure(error).message;
  }
  isSessionOver.value = false;
  sessionNumber.value += 1;
  await loadSession();
  return undefined;
}

/** Ends the session, and shows the server's login page. */
export async function logOut(): Promise<void> {
  await api.call('/logout', { method: 'POST', body: {} });
  location.reload();
}
