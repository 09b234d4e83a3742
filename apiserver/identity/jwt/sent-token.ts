import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { JWTPayload } from 'jose';

/** The maximum length of a token: 16 KiB, because the server accepts no more than 16 KiB of headers in a request. */
const maxLength = 16_384;

/** Matches a signed token in compact form. */
const form = /^eyJ[\w-]*\.eyJ[\w-]*\.[\w-]+$/;

/** A parsed token. Neither its signature nor its claims are verified yet. */
export interface SentToken {
  readonly text: string;
  readonly alg: string;
  readonly kid: string | undefined;
  readonly claims: JWTPayload;
}

/** Parses a token without verifying it. Returns undefined for a text that is not a signed token. */
export function readUnverified(text: string): SentToken | undefined {
  if (text.length > maxLength || !form.test(text)) return undefined;
  try {
    const { alg, kid, crit } = decodeProtectedHeader(text);
    const isPlain = typeof alg === 'string' && crit === undefined && (kid === undefined || typeof kid === 'string');
    return isPlain ? { text, alg, kid, claims: decodeJwt(text) } : undefined;
  } catch {
    return undefined;
  }
}
