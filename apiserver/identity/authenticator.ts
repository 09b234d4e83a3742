import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { BearerToken } from './bearer-token.ts';
import { SentHeaders, tokenIn } from './sent-headers.ts';
import type { Kept } from './sent-headers.ts';
import type { Lookup, TokenAuthenticator } from './token-authenticator.ts';
import type { UserInfo } from './user-info.ts';

/** Finds the user of a request by its connection: a client certificate. */
export interface ConnectionAuthenticator {
  ofRequest(request: IncomingMessage): UserInfo | undefined;
  /** True for a request with such a credential, valid or not: it does not count as a request without a credential. */
  hasCredential(request: IncomingMessage): boolean;
}

/** Finds the user of a request without an Authorization header: by a session's cookie. */
export interface SessionFinder {
  readonly ofRequest: Lookup<IncomingMessage>;
  /** True for a request with the cookie of a session, which may have ended. */
  hasCredential(request: IncomingMessage): boolean;
}

/** The ways in which a server finds users. */
export interface AuthenticatorParts {
  /** Called before all others. Without it, client certificates are not accepted. */
  readonly certificates?: ConnectionAuthenticator | undefined;
  /** Called in order. */
  readonly tokens: readonly TokenAuthenticator[];
  /** Called only for requests without an Authorization header. Without it, there are no sessions. */
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
    if (kept !== undefined) return holder ?? this.#ofKept(kept);
    const token = tokenIn(header);
    if (token === undefined || holder !== undefined) return token && holder;
    return this.#ofOwnToken(token, (by) => this.#headers.keep(socket, header, { token, by }));
  }

  /** Asks the authenticator that has accepted the token before, which usually accepts it again. */
  #ofKept({ token, by }: Kept): Found {
    const found = by.ofToken(token);
    return found === undefined || found instanceof Promise ? this.#ofOwnToken(token) : found;
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

  /** Returns undefined for a token that no authenticator accepts, for this server or for another audience. */
  ofToken(text: string, audience: string = this.#parts.audience): Found {
    const { tokens } = this.#parts;
    const token = new BearerToken(text);
    if (audience === this.#parts.audience) return this.#ofOwnToken(token);
    return firstOf(tokens.length, (index) => tokens[index]?.ofTokenFor?.(token, audience));
  }

  /** `onAccepted` is called with the authenticator that accepts the token. */
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
