import type { UserInfo } from './user-info.ts';

/** The data that the server must keep while a person logs in at the issuer's page. All of it is secret. */
export interface LoginSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A login that has begun. */
export interface BegunLogin {
  /** The address of the issuer's login page. */
  readonly location: string;
  readonly secrets: LoginSecrets;
}

/** A login whose browser the issuer has redirected back to this server. */
export interface ReturnedLogin {
  /** The URI to which the issuer redirected the browser. It is registered at the issuer. */
  readonly redirectUri: string;
  readonly querystring: string;
  readonly secrets: LoginSecrets;
}

/** An external identity provider at which people log in with a browser. */
export interface LoginProvider {
  /** The name of the provider in the URL paths of the login. */
  readonly name: string;
  /** The name that the login page shows. */
  readonly displayName: string;
  /**
   * An id of the provider's settings. A session is valid only while a provider has the settings with which the session
   * began.
   */
  readonly settingsId: string;
  /** @throws LoginFailure */
  begin(redirectUri: string): Promise<BegunLogin>;
  /** Resolves with the user whom the issuer names. @throws LoginFailure */
  finish(returned: ReturnedLogin): Promise<UserInfo>;
}

/**
 * The reason why a login failed.
 * - `refused`: the issuer refused the login.
 * - `invalid`: the browser sent wrong parameters, or a check of the issuer's response failed, such as the nonce check.
 * - `no user`: the ID token could not be verified, or its claims give no valid user.
 * - `unavailable`: the issuer cannot be reached, its token endpoint fails, or the client secret cannot be read.
 */
export type LoginFailureReason = 'refused' | 'invalid' | 'no user' | 'unavailable';

/**
 * The error of a login that did not succeed. The message is for the log. It contains no secret. Of the texts that the
 * browser sent, it contains at most a short error code, such as `access_denied`.
 */
export class LoginFailure extends Error {
  override readonly name = 'LoginFailure';
  readonly reason: LoginFailureReason;

  constructor(message: string, reason: LoginFailureReason) {
    super(message);
    this.reason = reason;
  }
}
