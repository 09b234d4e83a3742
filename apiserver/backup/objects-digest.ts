import { createHash } from 'node:crypto';

/**
 * What two databases have in common that hold the same objects: SHA-256 of key, length and bytes of each, by key.
 * Neither revisions nor the kind of database are in it; the kind of an object is in its key.
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

  /** Hexadecimal. Nothing can be added after it. */
  sum(): string {
    return this.#hash.digest('hex');
  }
}
