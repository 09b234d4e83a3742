import type { UserInfo } from './user-info.ts';

/**
 * What the server must remember during a browser's login, until the person comes back from the issuer. All of it is
 * secret.
 */
export interface LoginSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A login that has begun. */
export interface BegunLogin {
  /** Where the person logs in. */
  readonly location: string;
  readonly secrets: LoginSecrets;
}

/** What the issuer's page has sent back, by way of the browser. */
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
  /** What the login page shows. */
  readonly displayName: string;
  /** Distinguishes settings from others of the same name: sessions that began with other settings are void. */
  readonly settingsId: string;
  /** @throws LoginFailure */
  begin(redirectUri: string): Promise<BegunLogin>;
  /** Resolves with the user whom the issuer names. @throws LoginFailure */
  finish(returned: ReturnedLogin): Promise<UserInfo>;
}

/**
 * Why a login failed: the issuer refused it; what the browser brought back is wrong; the claims give no user; or the
 * issuer cannot be reached, or used.
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
