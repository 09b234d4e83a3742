/** A path of the login at an identity provider. */
export interface IssuerPath {
  /** The name of the provider. */
  readonly provider: string;
  readonly isCallback: boolean;
}

const form = /^\/login\/oidc\/([a-z0-9-]{1,63})(\/callback)?$/;

/** Parses a path of the login at an identity provider. Returns undefined for other paths. */
export function issuerPath(path: string): IssuerPath | undefined {
  const [, provider, callback] = form.exec(path) ?? [];
  return provider === undefined ? undefined : { provider, isCallback: callback !== undefined };
}
