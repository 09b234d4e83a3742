import { dump } from 'js-yaml';

export interface KubeconfigParts {
  /** The name of the context and of the cluster. */
  readonly name: string;
  /** The name of the user. Default: the name of the context. */
  readonly user?: string;
  readonly url: URL;
  readonly ca: string | undefined;
  readonly token: string | undefined;
  /** The client key and certificate, both in PEM. */
  readonly certificate?: { readonly key: string; readonly cert: string } | undefined;
}

/** Returns the text of a kubeconfig with one context. */
export function formatKubeconfig(parts: KubeconfigParts): string {
  const { name, user = name, url, ca, token, certificate } = parts;
  const cluster = {
    server: url.href.replace(/\/$/, ''),
    ...(ca === undefined ? {} : { 'certificate-authority-data': base64(ca) }),
    // Plain HTTP has no certificate, but client-node refuses plain HTTP without this field.
    ...(url.protocol === 'http:' ? { 'insecure-skip-tls-verify': true } : {}),
  };
  const credential = {
    ...(token === undefined ? {} : { token }),
    ...(certificate === undefined
      ? {}
      : { 'client-certificate-data': base64(certificate.cert), 'client-key-data': base64(certificate.key) }),
  };
  return dump({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name: user, user: credential }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Returns the host name by which clients on this machine reach a server that listens on the address `host`. */
export function reachableName(host: string, hostNames: readonly string[]): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  return isEverywhere ? (hostNames[0] ?? '127.0.0.1') : host;
}
