import { createHash, timingSafeEqual } from 'node:crypto';

const minTokenLength = 16;

/** The header that carries it has to fit into the 16 KiB that all headers have. */
const maxTokenLength = 1024;

/** What is wrong with a token: 16 to 1,024 printable ASCII characters, no space. Never repeats it. */
export function checkToken(token: string): readonly string[] {
  const isFit = token.length >= minTokenLength && token.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(token);
  if (isFit) return [];
  return [`must be ${minTokenLength} to ${maxTokenLength} printable ASCII characters, without spaces`];
}

/** Whether what is sent is the token. */
export function tokenCheck(token: string): (sent: string) => boolean {
  const expected = digest(token);
  // Digests have one length, so that how long the comparison takes says nothing of the token, its length included.
  return (sent) => timingSafeEqual(digest(sent), expected);
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
