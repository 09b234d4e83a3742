import { keyPrefixOf } from '../store/object-key.ts';
import type { KeptData, KeptStore, NumberedKind } from '../store/store.ts';
import type { Encryption } from './encryption.ts';

/**
 * Encrypts and decrypts the data that the store keeps about the objects of each kind, in the same way as the objects.
 * `read` adds a `problem` to data that cannot be decrypted, or is not encrypted as the current configuration requires.
 */
export class EncryptedKept implements KeptStore {
  readonly #stored: KeptStore;
  readonly #encryption: () => Encryption;

  constructor(stored: KeptStore, encryption: () => Encryption) {
    this.#stored = stored;
    this.#encryption = encryption;
  }

  async read(kind: NumberedKind, from: number): Promise<KeptData | undefined> {
    const part = await this.#stored.read(kind, from);
    if (part === undefined) return undefined;
    const encryption = this.#encryption();
    const ofKind = encryption.of(kind);
    if (encryption.isOutdated(ofKind, part.data))
      return { ...part, problem: 'the encryption of the values differs from the configuration' };
    const { data, problem } = { problem: '', ...encryption.unseal(ofKind, placeOf(kind, part), part.data) };
    return data === undefined ? { ...part, problem } : { last: part.last, data };
  }

  async write(kind: NumberedKind, { last, data }: Pick<KeptData, 'last' | 'data'>): Promise<void> {
    const encryption = this.#encryption();
    await this.#stored.write(kind, { last, data: encryption.seal(encryption.of(kind), placeOf(kind, { last }), data) });
  }

  async drop(kind: NumberedKind): Promise<void> {
    await this.#stored.drop(kind);
  }
}

/** Returns the `place` for {@link Encryption.seal} and `unseal` of a kind's data: a text that is no object's key. */
function placeOf(kind: NumberedKind, { last }: Pick<KeptData, 'last'>): string {
  return `${keyPrefixOf(kind)} kept ${last}`;
}
