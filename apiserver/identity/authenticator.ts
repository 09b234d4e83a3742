import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { BearerToken } from './bearer-token.ts';
import { SentHeaders, tokenIn } from './sent-headers.ts';
import type { Kept } from './sent-headers.ts';
import type { Lookup, TokenAuthenticator } from './token-authenticator.ts';
import type { UserInfo } from './user-info.ts';

/** Finds the user of a request by the client certificate of its connection. */
export interface ConnectionAuthenticator {
  ofRequest(request: IncomingMessage): UserInfo | undefined;
  /**
   * True for a request with a client certificate, even if the certificate is not valid. Such a request never gets the
   * user {@link AuthenticatorParts.fallback}.
   */
  hasCredential(request: IncomingMessage): boolean;
}

/** Finds the user of a request without an Authorization header, by the cookie of a session. */
export interface SessionFinder {
  readonly ofRequest: Lookup<IncomingMessage>;
  /**
   * True for a request with the cookie of a session, even if the session has ended. Such a request never gets the user
   * {@link AuthenticatorParts.fallback}.
   */
  hasCredential(request: IncomingMessage): boolean;
}

export interface AuthenticatorParts {
  /** The authenticator that is called before all others. If it is absent, client certificates are not accepted. */
  readonly certificates?: ConnectionAuthenticator | undefined;
  /** The authenticators for bearer tokens. They are called in this order. */
  readonly tokens: readonly TokenAuthenticator[];
  /** The authenticator for requests without an Authorization header. If it is absent, there are no sessions. */
  readonly sessions?: SessionFinder;
  /** The audience of tokens for this server. */
  readonly audience: string;
  /** The user of requests without a credential. By default, these requests are refused (401). */
  readonly fallback?: UserInfo;
  /** The user of all requests, whatever their credentials, on a server without authentication. */
  readonly everybody?: UserInfo;
}

/**
 * Finds the user of each request. It tries the credentials in the order of Kubernetes: client certificate, bearer
 * token, session. If a request has an Authorization header, its session and `fallback` are not used: when no
 * authenticator accepts the token, the request has no user, unless it has a valid client certificate. If the
 * Authorization header contains no token, the request has no user, even with a valid client certificate.
 */
export class Authenticator {
  readonly #parts: AuthenticatorParts;
  readonly #headers = new SentHeaders();

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts;
  }

  /** Returns the user of a request; undefined when the request must be refused (401). */
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
   * Returns the user of an Authorization header. If there is a client certificate, its user, `holder`, takes precedence
   * over the user of the token. A header without a token is refused even then.
   */
  #ofHeader(socket: Socket, header: string, holder: UserInfo | undefined): Found {
    const kept = this.#headers.keptOf(socket, header);
    if (kept !== undefined) return holder ?? this.#ofKept(kept);
    const token = tokenIn(header);
    if (token === undefined || holder !== undefined) return token && holder;
    return this.#ofOwnToken(token, (by) => this.#headers.keep(socket, header, { token, by }));
  }

  /** Asks first the authenticator that accepted this token last time, because it usually accepts the token again. */
  #ofKept({ token, by }: Kept): Found {
    const found = by.ofToken(token);
    if (found instanceof Promise) return found.then((user) => user ?? this.#ofOwnToken(token));
    return found ?? this.#ofOwnToken(token);
  }

  #withoutCredential(request: IncomingMessage): UserInfo | undefined {
    const { certificates, sessions, fallback } = this.#parts;
    if (fallback === undefined) return undefined;
    const isWrong = certificates?.hasCredential(request) === true || sessions?.hasCredential(request) === true;
    return isWrong ? undefined : fallback;
  }

  /** The audience of tokens for this server. */
  get audience(): string {
    return this.#parts.audience;
  }

  /**
   * Returns the user of a token for an audience, by default this server; undefined for a token that no authenticator
   * accepts.
   */
  ofToken(text: string, audience: string = this.#parts.audience): Found {
    const { tokens } = this.#parts;
    const token = new BearerToken(text);
    if (audience === this.#parts.audience) return this.#ofOwnToken(token);
    return firstOf(tokens.length, (index) => tokens[index]?.ofTokenFor?.(token, audience));
  }

  /**
   * Returns the user of a token for requests to this server. Calls `onAccepted` with the authenticator that accepts the
   * token.
   */
  #ofOwnToken(token: BearerToken, onAccepted: (by: TokenAuthenticator) => void = ignore): Found {
    const { tokens } = this.#parts;
    return firstOf(tokens.length, (index) => {
      const by = tokens[index];
      const found = by?.ofToken(token);
      const noted = (user: UserInfo | undefined): UserInfo | undefined => {
        if (by !== undefined && user !== undefined) onAccepted(by);
        return user;
      };
      return found instanceof Promise ? found.then(noted) : noted(found);
    });
  }
}

function ignore(): void {}

type Found = UserInfo | undefined | Promise<UserInfo | undefined>;

/**
 * Calls one authenticator after the other, until one returns a user. It returns a promise only if an authenticator
 * returns one, because most credentials need no I/O.
 */
function firstOf(count: number, ask: (index: number) => Found, from = 0): Found {
  for (let index = from; index < count; index += 1) {
    const found = ask(index);
    if (found instanceof Promise) return found.then((user) => user ?? firstOf(count, ask, index + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}
