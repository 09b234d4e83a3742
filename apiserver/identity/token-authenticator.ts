import type { BearerToken } from './bearer-token.ts';
import type { UserInfo } from './user-info.ts';

/** Returns undefined for unknown and for invalid credentials. Never throws for a bad credential. */
export type Lookup<Credential> = (credential: Credential) => UserInfo | undefined | Promise<UserInfo | undefined>;

/** Finds the user of a bearer token. */
export interface TokenAuthenticator {
  readonly ofToken: Lookup<BearerToken>;
  /** Finds the user of a token for another audience; absent where tokens are for this server alone. */
  readonly ofTokenFor?: (token: BearerToken, audience: string) => UserInfo | undefined | Promise<UserInfo | undefined>;
}
