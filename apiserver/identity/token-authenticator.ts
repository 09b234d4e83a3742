import type { BearerToken } from './bearer-token.ts';
import type { UserInfo } from './user-info.ts';

/** Returns the user of a credential. For an unknown or invalid credential, returns undefined and does not throw. */
export type Lookup<Credential> = (credential: Credential) => UserInfo | undefined | Promise<UserInfo | undefined>;

/** Finds the user of a bearer token. */
export interface TokenAuthenticator {
  readonly ofToken: Lookup<BearerToken>;
  /** Finds the user of a token for another audience; absent if the tokens are only for this server. */
  readonly ofTokenFor?: (token: BearerToken, audience: string) => UserInfo | undefined | Promise<UserInfo | undefined>;
}
