import type { IncomingMessage } from 'node:http';
import type { SessionFinder } from '../identity/authenticator.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { People } from './people.ts';
import { readSessionCookie } from './session-cookie.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface SessionAuthenticatorParts {
  readonly people: People;
  readonly isSecure: (request: IncomingMessage) => boolean;
}

/**
 * Finds the user of a request by the session cookie. Browsers add the cookie to requests on their own, so a write also
 * needs the header Origin, which every browser sends with writes. An earlier check has verified that the header names
 * the server's own origin.
 */
export class SessionAuthenticator implements SessionFinder {
  readonly #parts: SessionAuthenticatorParts;

  constructor(parts: SessionAuthenticatorParts) {
    this.#parts = parts;
  }

  readonly ofRequest = (request: IncomingMessage): UserInfo | undefined | Promise<UserInfo | undefined> => {
    const { origin } = request.headers;
    const secret = this.#secretOf(request);
    if (secret === undefined) return undefined;
    if (!safeMethods.has(request.method ?? '') && (origin === undefined || origin === '')) return undefined;
    return this.#parts.people.ofSession(secret);
  };

  hasCredential(request: IncomingMessage): boolean {
    return this.#secretOf(request) !== undefined;
  }

  #secretOf(request: IncomingMessage): string | undefined {
    const { cookie } = request.headers;
    return cookie === undefined ? undefined : readSessionCookie(cookie, this.#parts.isSecure(request));
  }
}
