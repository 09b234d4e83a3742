import type { ApiObject, OwnerReference } from '@homeostat/controller-runtime/api';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { UnservedLog } from '../registry/kinds/unserved-log.ts';
import { kindNameOf, kindOfKey } from '../store/object-key.ts';
import { SharedRead } from '../store/shared-read.ts';
import type { Row, Store } from '../store/store.ts';

export interface UnservedDependentsParts {
  readonly store: Store;
  readonly table: ResourceTable;
  readonly log: UnservedLog;
  /** The kind with this kind number is not searched, because its objects have no owners. */
  readonly hidden: number;
}

type IsDependent = (owner: OwnerReference) => boolean;

/**
 * Finds dependents among stored objects of kinds that this process does not serve: kinds that it will serve later, that
 * it has served before, or that only other processes serve. It reads every key once to find these kinds, and after that
 * only their objects.
 */
export class UnservedDependents {
  readonly #parts: UnservedDependentsParts;
  #kinds: { readonly numbers: Promise<Set<number>>; readonly losses: number } | undefined;
  readonly #looks = new SharedRead(() => this.#look());
  #asked = new Set<IsDependent>();

  constructor(parts: UnservedDependentsParts) {
    this.#parts = parts;
    parts.table.on(
      'closed',
      // A failed read is ignored here, because the callers that wait for it get the error, and the next call reads
      // again.
      ({ kindNumber }) =>
        void this.#kinds?.numbers.then(
          (numbers) => numbers.add(kindNumber),
          () => undefined,
        ),
    );
  }

  /**
   * Resolves with true when some object of a kind that is not served has a matching reference. One search serves all
   * calls that are made before it begins.
   */
  async some(isDependent: IsDependent): Promise<boolean> {
    this.#asked.add(isDependent);
    return (await this.#looks.get()).has(isDependent);
  }

  /**
   * Reads the store once for all waiting calls of `some`. Each call has passed a function. Returns the functions that
   * returned true for an owner reference in a stored object of an unserved kind.
   */
  async #look(): Promise<ReadonlySet<IsDependent>> {
    const { store, table, log, hidden } = this.#parts;
    const asked = this.#asked;
    this.#asked = new Set();
    const found = new Set<IsDependent>();
    const numbers = new Set([...(await this.#stored()), ...log.kinds]);
    for (const number of numbers) {
      if (number === hidden || table.ofNumber(number) !== undefined) continue;
      for await (const rows of store.scan(number)) {
        const owners = rows.flatMap(ownersOf);
        const answered = [...asked].filter((isDependent) => owners.some(isDependent));
        for (const each of answered) found.add(each);
        if (found.size === asked.size) return found;
      }
    }
    return found;
  }

  /**
   * Returns the kind number of each kind in the store. Reads the store for these numbers once, and again after the log
   * has lost changes, because a lost change may have added a kind.
   */
  #stored(): Promise<Set<number>> {
    const { losses } = this.#parts.log;
    if (this.#kinds?.losses !== losses) {
      const numbers = this.#read();
      this.#kinds = { numbers, losses };
      numbers.catch(() => (this.#kinds = undefined));
    }
    return this.#kinds.numbers;
  }

  async #read(): Promise<Set<number>> {
    const { store } = this.#parts;
    const samples = new Map<string, string>();
    for await (const rows of store.scan()) for (const { key } of rows) samples.set(kindPartOf(key), key);
    const kinds = [...samples.values()].flatMap((key) => kindOfKey(key) ?? []);
    return new Set(await Promise.all(kinds.map(async (kind) => store.numberOf(kindNameOf(kind)))));
  }
}

/** Returns the part of a key that names its kind. It is called for every key of a database, so it must be fast. */
function kindPartOf(key: string): string {
  return key.split('/', 4).join('/');
}

const ownersField = Buffer.from('"ownerReferences"');

function ownersOf({ data }: Row): readonly OwnerReference[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return bytes.includes(ownersField) ? readOwners(bytes) : [];
}

/**
 * Returns the owners of an object. An object that cannot be read counts as an object without owners, so that it delays
 * no deletion.
 */
function readOwners(bytes: Buffer): readonly OwnerReference[] {
  try {
    const { metadata }: Partial<ApiObject> = decodeObject(bytes);
    return Array.isArray(metadata?.ownerReferences) ? (metadata.ownerReferences as readonly OwnerReference[]) : [];
  } catch {
    return [];
  }
}
