/**
 * A path of this server for logins at an identity provider: `/login/oidc/<provider>` starts a login, and
 * `/login/oidc/<provider>/callback` completes it.
 */
export interface IssuerPath {
  /** The name of the identity provider, which is a segment of the path: `/login/oidc/<provider>`. */
  readonly provider: string;
  readonly isCallback: boolean;
}

const form = /^\/login\/oidc\/([a-z0-9-]{1,63})(\/callback)?$/;

/** Parses a path of the login at an identity provider. Returns undefined for other paths. */
export function issuerPath(path: string): IssuerPath | undefined {
  const [, provider, callback] = form.exec(path) ?? [];
  return provider === undefined ? undefined : { provider, isCallback: callback !== undefined };
}
