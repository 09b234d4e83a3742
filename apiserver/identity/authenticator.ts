import type { IncomingMessage } from 'node:http';
import { BearerToken } from './bearer-token.ts';
import { SentHeaders } from './sent-headers.ts';
import type { UserInfo } from './user-info.ts';

/** Returns undefined for unknown and for invalid credentials. Never throws for a bad credential. */
export type Lookup<Credential> = (credential: Credential) => UserInfo | undefined | Promise<UserInfo | undefined>;

/** Finds the user of a bearer token. */
export interface TokenAuthenticator {
  readonly ofToken: Lookup<BearerToken>;
  /** The same for another audience than this server; absent where tokens are for this server alone. */
  readonly ofTokenFor?: (token: BearerToken, audience: string) => UserInfo | undefined | Promise<UserInfo | undefined>;
}

/**
 * Finds the user of a request by a credential other than a bearer token: a client certificate, or a session's cookie.
 */
export interface RequestAuthenticator {
  readonly ofRequest: Lookup<IncomingMessage>;
  /** True for a request with such a credential, valid or not: it does not count as a request without a credential. */
  readonly hasCredential?: (request: IncomingMessage) => boolean;
}

/** The ways in which a server finds users. */
export interface AuthenticatorParts {
  /** Called in order, before those of tokens. */
  readonly requests: readonly RequestAuthenticator[];
  /** Called in order. */
  readonly tokens: readonly TokenAuthenticator[];
  /** The audience that this server is. */
  readonly audience: string;
  /** The user of requests without a credential. Default: they get 401. */
  readonly fallback?: UserInfo;
  /** The user of all requests, whatever their credentials; for an open server. */
  readonly everybody?: UserInfo;
}

/**
 * Finds the user of each request. The order is that of Kubernetes: client certificate, bearer token, session. A
 * request with an Authorization header that no authenticator accepts has no user, even if a request without the
 * header would have one.
 */
export class Authenticator {
  readonly #parts: AuthenticatorParts;
  readonly #headers = new SentHeaders();

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts;
  }

  /** Returns undefined when the request must get 401. */
  ofRequest(request: IncomingMessage): Found {
    const { requests, everybody } = this.#parts;
    if (everybody !== undefined) return everybody;
    const { authorization } = request.headers;
    const found = firstOf(requests.length, (index) => requests[index]?.ofRequest(request));
    if (authorization === undefined) return afterwards(found, (user) => user ?? this.#withoutCredential(request));
    const { socket } = request;
    const token = this.#headers.tokenOf(socket, authorization);
    if (token === undefined) return undefined;
    return afterwards(found, (user) => {
      if (user !== undefined) return user;
      return afterwards(this.#ofOwnToken(token), (owner) => {
        if (owner !== undefined) this.#headers.keep(socket, authorization, token);
        return owner;
      });
    });
  }

  #withoutCredential(request: IncomingMessage): UserInfo | undefined {
    const { requests, fallback } = this.#parts;
    if (fallback === undefined || requests.some((each) => each.hasCredential?.(request) === true)) return undefined;
    return fallback;
  }

  /** The audience that this server is. */
  get audience(): string {
    return this.#parts.audience;
  }

  /** Returns undefined for a token that no authenticator accepts, for this server or for another audience. */
  ofToken(text: string, audience: string = this.#parts.audience): Found {
    const { tokens } = this.#parts;
    const token = new BearerToken(text);
    if (audience === this.#parts.audience) return this.#ofOwnToken(token);
    return firstOf(tokens.length, (index) => tokens[index]?.ofTokenFor?.(token, audience));
  }

  #ofOwnToken(token: BearerToken): Found {
    const { tokens } = this.#parts;
    return firstOf(tokens.length, (index) => tokens[index]?.ofToken(token));
  }
}

type Found = UserInfo | undefined | Promise<UserInfo | undefined>;

/** Calls one authenticator after the other. Synchronous as long as they are: most credentials need no I/O. */
function firstOf(count: number, ask: (index: number) => Found, from = 0): Found {
  for (let index = from; index < count; index += 1) {
    const found = ask(index);
    if (found instanceof Promise) return found.then((user) => user ?? firstOf(count, ask, index + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

function afterwards(found: Found, follow: (user: UserInfo | undefined) => Found): Found {
  return found instanceof Promise ? found.then(follow) : follow(found);
}
