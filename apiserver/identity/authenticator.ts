import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { BearerToken } from './bearer-token.ts';
import { SentHeaders, tokenIn } from './sent-headers.ts';
import type { UserInfo } from './user-info.ts';

/** Returns undefined for unknown and for invalid credentials. Never throws for a bad credential. */
export type Lookup<Credential> = (credential: Credential) => UserInfo | undefined | Promise<UserInfo | undefined>;

/** Finds the user of a bearer token. */
export interface TokenAuthenticator {
  readonly ofToken: Lookup<BearerToken>;
  /** Finds the user of a token for another audience; absent where tokens are for this server alone. */
  readonly ofTokenFor?: (token: BearerToken, audience: string) => UserInfo | undefined | Promise<UserInfo | undefined>;
}

/** Finds the user of a request by its connection: a client certificate. */
export interface ConnectionAuthenticator {
  ofRequest(request: IncomingMessage): UserInfo | undefined;
  /** True for a request with such a credential, valid or not: it does not count as a request without a credential. */
  hasCredential(request: IncomingMessage): boolean;
}

/** Finds the user of a request without an Authorization header: by a session's cookie. */
export interface SessionFinder {
  readonly ofRequest: Lookup<IncomingMessage>;
}

/** The ways in which a server finds users. */
export interface AuthenticatorParts {
  /** Called first. Absent: there are no client certificates. */
  readonly certificates?: ConnectionAuthenticator | undefined;
  /** Called in order. */
  readonly tokens: readonly TokenAuthenticator[];
  /** Called only for requests without an Authorization header. Absent: there are no sessions. */
  readonly sessions?: SessionFinder;
  /** The audience of tokens for this server. */
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
    const { certificates, sessions, everybody } = this.#parts;
    if (everybody !== undefined) return everybody;
    const { authorization } = request.headers;
    const holder = certificates?.ofRequest(request);
    if (authorization !== undefined) return this.#ofHeader(request.socket, authorization, holder);
    const found = holder ?? sessions?.ofRequest(request);
    if (found instanceof Promise) return found.then((user) => user ?? this.#withoutCredential(request));
    return found ?? this.#withoutCredential(request);
  }

  /**
   * `holder` is the user of a certificate, and takes precedence over the user of the token. A header without a token is
   * refused even so.
   */
  #ofHeader(socket: Socket, header: string, holder: UserInfo | undefined): Found {
    const kept = this.#headers.keptOf(socket, header);
    if (kept !== undefined) return holder ?? this.#ofOwnToken(kept);
    const token = tokenIn(header);
    if (token === undefined || holder !== undefined) return token && holder;
    const found = this.#ofOwnToken(token);
    const keep = (owner: UserInfo | undefined): UserInfo | undefined => {
      if (owner !== undefined) this.#headers.keep(socket, header, token);
      return owner;
    };
    return found instanceof Promise ? found.then(keep) : keep(found);
  }

  #withoutCredential(request: IncomingMessage): UserInfo | undefined {
    const { certificates, fallback } = this.#parts;
    return fallback === undefined || certificates?.hasCredential(request) === true ? undefined : fallback;
  }

  /** The audience of tokens for this server. */
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

/**
 * Calls one authenticator after the other. Synchronous as long as the authenticators are: most credentials need no I/O.
 */
function firstOf(count: number, ask: (index: number) => Found, from = 0): Found {
  for (let index = from; index < count; index += 1) {
    const found = ask(index);
    if (found instanceof Promise) return found.then((user) => user ?? firstOf(count, ask, index + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}
