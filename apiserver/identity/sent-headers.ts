import type { Socket } from 'node:net';
import { BearerToken } from './bearer-token.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

/**
 * The maximum length of a header that is kept, which limits the memory of a connection. Tokens of service accounts have
 * about 1,000 characters.
 */
const maxKeptLength = 2048;

/** The token of the last accepted Authorization header of a connection, and the authenticator that accepted it. */
export interface Kept {
  readonly token: BearerToken;
  /** The authenticator that accepted the token. */
  readonly by: TokenAuthenticator;
}

interface KeptHeader extends Kept {
  readonly length: number;
  /** The header, with zeros after it. Node reads headers as latin1, so each character is one byte. */
  readonly words: Int32Array;
}

const bearerForm = /^bearer +(\S+) *$/i;

const kept: unique symbol = Symbol('the last accepted Authorization header');

declare module 'node:net' {
  interface Socket {
    /**
     * The last Authorization header of this connection whose token was accepted. It is a property of the socket,
     * because a lookup in a WeakMap takes several times as long.
     */
    [kept]?: KeptHeader;
  }
}

/**
 * Caches the tokens of Authorization headers. It keeps the last accepted header of a connection until the connection
 * ends, so that the same header needs no new digest in the next request (1 µs of the 21 µs that a get takes). It keeps
 * the token and not its user, so the validity of the token is checked at each request. A proxy may share a connection
 * among clients. So the time to compare two headers depends only on their lengths, and does not reveal how much of
 * another client's header was guessed. The comparison has no branch on the characters, and compares four of them at a
 * time.
 */
export class SentHeaders {
  /** The memory into which the header of a request is copied, to compare it with the kept header of the connection. */
  readonly #words = new Int32Array(maxKeptLength / 4);
  readonly #bytes = Buffer.from(this.#words.buffer);

  /**
   * If `header` equals the last accepted Authorization header of the connection, returns the token of this header, and
   * the authenticator that accepted the token. Otherwise returns undefined.
   */
  keptOf(socket: Socket, header: string): Kept | undefined {
    const found = socket[kept];
    if (found?.length !== header.length) return undefined;
    const { words } = found;
    this.#words[words.length - 1] = 0;
    this.#bytes.write(header, 'latin1');
    let difference = 0;
    for (let at = 0; at < words.length; at += 1) difference |= (words[at] ?? 0) ^ (this.#words[at] ?? 0);
    return difference === 0 ? found : undefined;
  }

  /** Keeps a header whose token an authenticator has accepted. */
  keep(socket: Socket, header: string, accepted: Kept): void {
    const { length } = header;
    if (length > maxKeptLength) return;
    const words = new Int32Array(Math.ceil(length / 4));
    Buffer.from(words.buffer).write(header, 'latin1');
    socket[kept] = { length, words, ...accepted };
  }
}

/** Returns the bearer token in a header; undefined for a header of another form. */
export function tokenIn(header: string): BearerToken | undefined {
  const text = bearerForm.exec(header)?.[1];
  return text === undefined ? undefined : new BearerToken(text);
}
