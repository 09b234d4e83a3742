import type { Clock } from '@homeostat/controller-runtime/api';
import { LoginFailure } from '../identity/login-provider.ts';
import type { LoginProvider } from '../identity/login-provider.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { Vault } from '../vault/vault.ts';
import { BegunLogins } from './begun-logins.ts';
import type { KeptLogin } from './begun-logins.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { Sessions } from './sessions.ts';

export interface IssuerLoginsParts {
  /** The issuers at which people log in. */
  readonly providers: () => readonly LoginProvider[];
  readonly sessions: Sessions;
  readonly throttle: LoginThrottle;
  readonly vault: Vault;
  readonly clock: Clock;
}

/** A request to begin a login at an issuer. */
export interface WantedLogin {
  /** The name of the provider. */
  readonly provider: string;
  readonly redirectUri: string;
  /** The path that the browser requested before the login. */
  readonly next: string;
}

/** The request of a browser that the issuer has redirected back to this server. */
export interface Return {
  /** The name of the provider in the path of the request. */
  readonly provider: string;
  readonly querystring: string;
  /** The encrypted login that {@link IssuerLogins.begin} returned, from the cookie; undefined without the cookie. */
  readonly sealed: string | undefined;
  /** The client's address, or the block of addresses that counts as one client. */
  readonly address: string;
}

/** The logins with a browser at external issuers. */
export class IssuerLogins {
  readonly #parts: IssuerLoginsParts;
  readonly #begun: BegunLogins;

  constructor(parts: IssuerLoginsParts) {
    this.#parts = parts;
    this.#begun = new BegunLogins(parts.vault, parts.clock);
  }

  /** Returns the issuers for the login page. */
  offers(): readonly Pick<LoginProvider, 'name' | 'displayName'>[] {
    return this.#parts.providers();
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  /** True while a provider still has the settings with which a session began. */
  isInUse(settingsId: string): boolean {
    return this.#parts.providers().some((provider) => provider.settingsId === settingsId);
  }

  /**
   * Begins a login. Resolves with the address of the issuer's page, and with the encrypted login that the browser has
   * to keep. @throws LoginFailure
   */
  async begin({
    provider,
    redirectUri,
    next,
  }: WantedLogin): Promise<{ readonly location: string; readonly sealed: string }> {
    const { location, secrets } = await this.#known(provider).begin(redirectUri);
    return { location, sealed: await this.#begun.seal({ provider, redirectUri, next, secrets }) };
  }

  /**
   * Finishes a login. Resolves with the secret of a new session, and the path that the browser requested before the
   * login. The attempt counts as failed until it succeeds; it does not count when the issuer cannot be reached, or
   * responds incorrectly. @throws LoginFailure, TooManyLogins
   */
  async finish(returned: Return): Promise<{ readonly secret: string; readonly next: string }> {
    const { throttle, sessions } = this.#parts;
    const attempt = { address: returned.address };
    throttle.begin(attempt);
    try {
      const provider = this.#known(returned.provider);
      const { redirectUri, next, secrets } = await this.#unseal(returned);
      const info = await provider.finish({ redirectUri, querystring: returned.querystring, secrets });
      const user = infoOf(info);
      const secret = await sessions.begin({ user: user.username, settingsId: provider.settingsId, info: user });
      throttle.succeed(attempt);
      return { secret, next };
    } catch (error) {
      if (error instanceof LoginFailure && error.reason === 'unavailable') throttle.succeed(attempt);
      throw error;
    }
  }

  /** Deletes marks of used logins, and keys that encrypt logins, when they are no longer needed. */
  async sweep(): Promise<void> {
    await this.#begun.sweep();
  }

  /**
   * Returns the login that a browser has begun. The login is valid only once, only at the callback of the provider at
   * which it began, and only if the query has the parameter `state` that the server sent to the issuer.
   */
  async #unseal({ provider, querystring, sealed }: Return): Promise<KeptLogin> {
    const login = sealed === undefined ? undefined : await this.#begun.open(sealed);
    if (login === undefined)
      throw new LoginFailure('this browser has begun no login, or the login took too long', 'invalid');
    const states = new URLSearchParams(querystring).getAll('state');
    if (login.provider !== provider || states.length !== 1 || states[0] !== login.secrets.state)
      throw new LoginFailure('the browser came back from a login that is not its latest', 'invalid');
    if (!(await this.#begun.use(login.secrets)))
      throw new LoginFailure('the browser came back twice from the same login', 'invalid');
    return login;
  }

  #known(name: string): LoginProvider {
    const provider = this.#find(name);
    if (provider === undefined) throw new LoginFailure('there is no such login provider', 'invalid');
    return provider;
  }

  #find(name: string): LoginProvider | undefined {
    return this.#parts.providers().find((provider) => provider.name === name);
  }
}

/** Returns the fields of a user that a session stores. */
function infoOf({ username, uid, groups, extra }: UserInfo): UserInfo {
  return { username, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) };
}
