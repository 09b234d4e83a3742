import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { LoginProvider } from '../login-provider.ts';
import type { JwtIssuer } from '../jwt/jwt-authenticator.ts';
import type { Followed } from '../../settings/followed-file.ts';
import type { IssuerConfig } from './authentication-config.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { IssuerLogin } from './issuer-login.ts';
import { OidcIssuer } from './oidc-issuer.ts';

export interface OidcIssuersParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The external issuers of a configuration, with their keys. */
export class OidcIssuers implements Followed {
  readonly #parts: OidcIssuersParts;
  #keys: readonly IssuerKeys[] = [];
  #left: readonly Promise<void>[] = [];
  #logins: readonly IssuerLogin[] = [];
  #isStarted = false;

  constructor(parts: OidcIssuersParts) {
    this.#parts = parts;
  }

  /** Replaces all issuers, and returns the new ones. */
  replace(configs: readonly IssuerConfig[]): readonly JwtIssuer[] {
    const { clock, logger } = this.#parts;
    this.#left = this.#keys.map(async (keys) => keys.stop());
    const parts = configs.map((config) => ({ config, keys: new IssuerKeys({ config, clock, logger }) }));
    this.#keys = parts.map(({ keys }) => keys);
    if (this.#isStarted) this.start();
    const issuers = parts.map((part) => ({ ...part, issuer: new OidcIssuer({ ...part, clock }) }));
    this.#logins = issuers.flatMap((part) => {
      const { login } = part.config;
      return login === undefined ? [] : [new IssuerLogin({ ...part, login, clock })];
    });
    return issuers.map(({ issuer }) => issuer);
  }

  /** The providers at which people log in with a browser. */
  get logins(): readonly LoginProvider[] {
    return this.#logins;
  }

  /**
   * Checks the files of all client secrets. Rejects with SettingsFileError when one of them cannot be read or has no
   * secret.
   */
  async checkSecrets(): Promise<void> {
    for (const login of this.#logins) await login.checkSecret();
  }

  start(): void {
    this.#isStarted = true;
    for (const keys of this.#keys) keys.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#left, ...this.#keys.map(async (keys) => keys.stop())]);
  }
}
