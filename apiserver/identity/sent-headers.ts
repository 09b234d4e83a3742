import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { BearerToken } from './bearer-token.ts';

/** Longer headers are not kept, which bounds the memory of a connection. Tokens of service accounts have 1,000 characters. */
const maxKeptLength = 2048;

/** A header with the token in it. */
interface Kept {
  /** The header. Node reads headers as latin1, so each character is one byte. */
  readonly header: Buffer;
  /** The start of the memory that all connections share for the comparison; its length is the header's. */
  readonly other: Buffer;
  readonly token: BearerToken;
}

const bearerForm = /^bearer +(\S+) *$/i;

/**
 * Keeps the tokens of Authorization headers. The last accepted header of a connection is kept until the connection ends, so
 * that the same header needs no digest again (1 µs of the 27 of a get). The token is kept, and never its user: whether the
 * token is valid is decided at each request. A proxy may share a connection among clients, so the time of the comparison
 * depends on the lengths alone, and not on how much of another client's header was guessed.
 */
export class SentHeaders {
  readonly #kept = new WeakMap<Socket, Kept>();
  readonly #scratch = Buffer.alloc(maxKeptLength);

  /** Returns the token of the connection's last accepted header, if this is the same header. */
  keptOf(socket: Socket, header: string): BearerToken | undefined {
    const kept = this.#kept.get(socket);
    if (kept?.header.length !== header.length) return undefined;
    kept.other.write(header, 'latin1');
    return timingSafeEqual(kept.other, kept.header) ? kept.token : undefined;
  }

  /** Called when the token of a header was accepted. */
  keep(socket: Socket, header: string, token: BearerToken): void {
    if (header.length > maxKeptLength) return;
    const other = this.#scratch.subarray(0, header.length);
    this.#kept.set(socket, { header: Buffer.from(header, 'latin1'), other, token });
  }
}

/** Returns undefined for a header that is not one of a bearer token. */
export function tokenIn(header: string): BearerToken | undefined {
  const text = bearerForm.exec(header)?.[1];
  return text === undefined ? undefined : new BearerToken(text);
}
