import { timingSafeEqual } from 'node:crypto';
import type { TokenAuthenticator } from './token-authenticator.ts';
import { BearerToken } from './bearer-token.ts';
import { administrator } from './user-info.ts';

const minTokenLength = 16;

/** The maximum length of a token, because its header has to fit into the 16 KiB of all headers. */
const maxTokenLength = 1024;

/**
 * Returns the problems of a token, which needs 16 to 1,024 printable ASCII characters and no space. Messages never
 * contain the token.
 */
export function checkToken(token: string): readonly string[] {
  const isFit = token.length >= minTokenLength && token.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(token);
  if (isFit) return [];
  return [`must be ${minTokenLength} to ${maxTokenLength} printable ASCII characters, without spaces`];
}

/** Accepts the administrator's token. */
export function administratorToken(token: string): TokenAuthenticator {
  const expected = new BearerToken(token).digest;
  // Digests have equal lengths, so the time of the comparison reveals neither the token nor its length.
  return { ofToken: ({ digest }) => (timingSafeEqual(digest, expected) ? administrator : undefined) };
}
