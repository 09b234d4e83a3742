import { createHash } from 'node:crypto';

/**
 * A digest that is equal for two databases with the same objects: the SHA-256 of the key, the length and the bytes of
 * each object, in the order of the keys. It depends neither on revisions nor on the type of database. The key of an
 * object includes its kind.
 */
export class ObjectsDigest {
  readonly #hash = createHash('sha256');
  #objects = 0;

  get objects(): number {
    return this.#objects;
  }

  add({ key, data }: { readonly key: string; readonly data: Uint8Array }): void {
    this.#hash.update(`${key}\n${data.byteLength}\n`).update(data);
    this.#objects += 1;
  }

  /** Returns the digest in hexadecimal digits. No object can be added afterwards. */
  sum(): string {
    return this.#hash.digest('hex');
  }
}
