import { hash } from 'node:crypto';

/** The number of bytes of a SHA-256 digest. */
export const digestBytes: number = 32;

/** A bearer token as a client sent it, with its SHA-256, because tokens are compared only by their digests. */
export class BearerToken {
  readonly text: string;
  /** The digest as a text of 32 characters, which can be the key of a map. */
  readonly key: string;
  readonly digest: Buffer;

  constructor(text: string) {
    this.text = text;
    this.key = hash('sha256', text, 'binary');
    this.digest = Buffer.from(this.key, 'latin1');
  }
}
