import { createHmac, createSecretKey } from 'node:crypto';
import { seal, unseal } from '../encryption/sealed-bytes.ts';
import type { EncryptionKey } from '../encryption/sealed-bytes.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { newSecret } from './sessions.ts';
import type { Sessions, TokenSession } from './sessions.ts';

export interface TokenLoginsParts {
  /** Returns the user of a bearer token for this server; undefined when it is not valid. */
  readonly ofToken: (token: string) => UserInfo | undefined | Promise<UserInfo | undefined>;
  readonly sessions: Sessions;
  readonly throttle: LoginThrottle;
}

/** A login with a bearer token that a person has pasted. */
export interface TokenLogin {
  readonly token: string;
  /** The client's address, or the block of addresses that counts as one client. */
  readonly address: string;
}

/**
 * The logins with bearer tokens. The token is checked again at each request, so that a session ends when its token
 * becomes invalid. The database has the token, encrypted with a key that is derived from the session's secret. Only the
 * browser has this secret.
 */
export class TokenLogins {
  readonly #parts: TokenLoginsParts;

  constructor(parts: TokenLoginsParts) {
    this.#parts = parts;
  }

  /** Resolves with the secret of a new session; undefined when the token is not valid. @throws TooManyLogins */
  async logIn({ token, address }: TokenLogin): Promise<string | undefined> {
    const { ofToken, sessions, throttle } = this.#parts;
    const attempt = { address };
    throttle.begin(attempt);
    const user = await ofToken(token);
    if (user === undefined) return undefined;
    throttle.succeed(attempt);
    const secret = newSecret();
    const sealedToken = seal(keyOf(secret), place, Buffer.from(token)).toString('base64');
    return sessions.begin({ user: user.username, sealedToken }, secret);
  }

  /** Resolves with the user of the session's token; undefined when it is no longer valid. */
  async userOf(secret: string, { sealedToken }: TokenSession): Promise<UserInfo | undefined> {
    const token = unseal(keyOf(secret), place, Buffer.from(sealedToken, 'base64'));
    return token === undefined ? undefined : this.#parts.ofToken(token.toString());
  }
}

/**
 * The key and the encryption of a session's token depend on this text, so that bytes that were encrypted for another
 * use cannot be decrypted as such a token.
 */
const place = 'token of a session';

/**
 * Derives the key of a session from its secret. The database has a hash of the secret, from which the key cannot be
 * derived.
 */
function keyOf(secret: string): EncryptionKey {
  return { name: 'session', secret: createSecretKey(createHmac('sha256', secret).update(place).digest()) };
}
