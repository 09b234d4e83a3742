import type { UserInfo } from './user-info.ts';

/**
 * The data that the server must remember while a person logs in at the issuer's page. All of it is secret.
 */
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

/** The parameters that the issuer's page has sent back through the browser. */
export interface ReturnedLogin {
  /** The path of the callback, as the issuer knows it. */
  readonly redirectUri: string;
  readonly querystring: string;
  readonly secrets: LoginSecrets;
}

/** A foreign issuer at which people log in with a browser. */
export interface LoginProvider {
  /** A part of the paths of the login. */
  readonly name: string;
  /** The name on the login page. */
  readonly displayName: string;
  /** Distinguishes settings from others of the same name: sessions that began with other settings are void. */
  readonly settingsId: string;
  /** @throws LoginFailure */
  begin(redirectUri: string): Promise<BegunLogin>;
  /** Resolves with the user whom the issuer names. @throws LoginFailure */
  finish(returned: ReturnedLogin): Promise<UserInfo>;
}

/**
 * The reason why a login failed: the issuer refused it; the browser sent wrong parameters; the claims give no user; or the issuer
 * cannot be reached, or used.
 */
export type LoginFailureReason = 'refused' | 'invalid' | 'no user' | 'unavailable';

/** A login that did not succeed. The message is for the log: it has no secret, and nothing that the browser has sent. */
export class LoginFailure extends Error {
  override readonly name = 'LoginFailure';
  readonly reason: LoginFailureReason;

  constructor(message: string, reason: LoginFailureReason) {
    super(message);
    this.reason = reason;
  }
}
