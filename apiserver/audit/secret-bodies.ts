import type { Attributes } from '../authorization/attributes.ts';

/** Resources whose bodies contain a secret, as `<plural>.<group>`. */
const secretResources: ReadonlySet<string> = new Set([
  'secrets.',
  'tokenreviews.authentication.k8s.io',
  'externaleffects.controllers.homeostat.internal',
]);

/**
 * Subresources whose bodies contain a secret, whatever the kind: `serviceaccounts/<name>/token`,
 * `users/<name>/password`.
 */
const secretSubresources: ReadonlySet<string> = new Set(['token', 'password']);

/**
 * Returns true for a request whose bodies are never recorded, whatever the audit policy says. These are requests for
 * Secrets, results of external effects, tokens and passwords, and all requests that are not for resources, such as a
 * login.
 */
export function hasSecretBody(attributes: Attributes): boolean {
  if (!attributes.isResource) return true;
  const { group, resource, subresource } = attributes;
  return secretResources.has(`${resource}.${group}`) || secretSubresources.has(subresource ?? '');
}

/** The query parameters whose values are never secret, and are therefore recorded. */
const plainParameters: ReadonlySet<string> = new Set(
  (
    'allowWatchBookmarks continue dryRun exclude fieldManager fieldSelector fieldValidation force gracePeriodSeconds ' +
    'labelSelector limit orphanDependents page pretty propagationPolicy resourceVersion resourceVersionMatch ' +
    'sendInitialEvents size sort timeout timeoutSeconds verbose watch'
  ).split(' '),
);

const maxUriLength = 2048;

/**
 * Returns the URI with `…` in place of the value of each parameter that may be a secret, such as a token or a code.
 */
export function recordedUri(path: string, querystring: string): string {
  const uri = querystring === '' ? path : `${path}?${querystring.split('&').map(recordedParameter).join('&')}`;
  return clipped(uri, maxUriLength);
}

function recordedParameter(pair: string): string {
  const at = pair.indexOf('=');
  if (at === -1) return pair === '' || plainParameters.has(pair) ? pair : '…';
  const name = pair.slice(0, at);
  return plainParameters.has(name) ? pair : `${name}=…`;
}

/** Shortens a text that a client chose. */
export function clipped(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`;
}
