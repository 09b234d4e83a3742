import type { ClaimRow } from '../server/batch-plan.ts';

/**
 * The keys of a store, all below its prefix:
 *
 * - `head`: the state of the history, see {@link Head}; every write replaces it
 * - `object/<kind><key>`: an object, such as `object/3/registry/example.com/persons/ada`
 * - `log/<revision>`: the changes of one transaction; the revision is that of its last change
 * - `claim/<kind>/<index>/<value>`: the key of the object that has a unique value
 * - `indexes/<kind>`: the unique indexes of a kind, and their generation
 * - `number/<name>`: the number of a kind or an index
 * - `part/<id>/<n>`: pieces of values that were staged because of their size
 * - `garbage/<revision>`: the ids of parts that are deleted when the log is compacted up to this revision
 * - `turn/<id>`: a store that requests a place in the order of writers, see {@link EtcdTurns}
 * - `store/<id>`: a store that has the database open; `exclusive`: the store that has the database exclusively. etcd
 *   deletes these keys when the lease of the store ends
 */
export class EtcdLayout {
  readonly prefix: string;
  readonly head: Buffer;
  readonly exclusive: Buffer;
  readonly all: KeyRange;
  readonly objects: KeyRange;
  readonly stores: KeyRange;
  readonly turns: KeyRange;
  readonly numbers: KeyRange;
  readonly allLogs: KeyRange;
  readonly allGarbage: KeyRange;
  readonly allParts: KeyRange;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.head = this.#key('head');
    this.exclusive = this.#key('exclusive');
    this.all = rangeOf(this.#key(''));
    this.objects = rangeOf(this.#key('object/'));
    this.stores = rangeOf(this.#key('store/'));
    this.turns = rangeOf(this.#key('turn/'));
    this.numbers = rangeOf(this.#key('number/'));
    this.allLogs = rangeOf(this.#key('log/'));
    this.allGarbage = rangeOf(this.#key('garbage/'));
    this.allParts = rangeOf(this.#key('part/'));
  }

  object(kind: number, key: string): Buffer {
    return this.#key(`object/${kind}${key}`);
  }

  objectsOf(kind: number): KeyRange {
    return rangeOf(this.#key(`object/${kind}/`));
  }

  /** Returns the kind and the key of the object that is stored under this etcd key. */
  objectAt(key: Buffer): { readonly kind: number; readonly key: string } {
    const rest = key.toString('utf8', this.objects.key.length);
    const slash = rest.indexOf('/');
    return { kind: Number(rest.slice(0, slash)), key: rest.slice(slash) };
  }

  log(revision: number): Buffer {
    return this.#key(`log/${digits(revision)}`);
  }

  /** Returns the range of the log records whose last revision is from `from` to `to`, both included. */
  logBetween(from: number, to: number): KeyRange {
    return { key: this.log(from), range_end: this.log(to + 1) };
  }

  claim({ kind, index, value }: ClaimRow): Buffer {
    return this.#key(`claim/${kind}/${index}/${value}`);
  }

  claimsOf(kind: number): KeyRange {
    return rangeOf(this.#key(`claim/${kind}/`));
  }

  /** Returns the index and the value of the claim that is stored under this etcd key. */
  claimAt(kind: number, key: Buffer): { readonly index: number; readonly value: string } {
    const rest = key.toString('utf8', this.claimsOf(kind).key.length);
    const slash = rest.indexOf('/');
    return { index: Number(rest.slice(0, slash)), value: rest.slice(slash + 1) };
  }

  indexes(kind: number): Buffer {
    return this.#key(`indexes/${kind}`);
  }

  number(name: string): Buffer {
    return this.#key(`number/${name}`);
  }

  part(id: string, position: number): Buffer {
    return this.#key(`part/${id}/${String(position).padStart(4, '0')}`);
  }

  parts(id: string): KeyRange {
    return rangeOf(this.#key(`part/${id}/`));
  }

  garbage(revision: number): Buffer {
    return this.#key(`garbage/${digits(revision)}`);
  }

  garbageUpTo(revision: number): KeyRange {
    return { key: this.garbage(0), range_end: this.garbage(revision + 1) };
  }

  store(id: string): Buffer {
    return this.#key(`store/${id}`);
  }

  turn(id: string): Buffer {
    return this.#key(`turn/${id}`);
  }

  /**
   * Returns the id in an etcd key `turn/<id>`, by which a store requests a place in the order of writers; undefined for
   * any other key.
   */
  turnAt(key: string): string | undefined {
    const start = this.turns.key.toString();
    return key.startsWith(start) ? key.slice(start.length) : undefined;
  }

  #key(rest: string): Buffer {
    return Buffer.from(`${this.prefix}/${rest}`);
  }
}

export interface KeyRange {
  readonly key: Buffer;
  /** The end of the range: the first key that is not in it. */
  readonly range_end: Buffer;
}

/** Returns the range of all keys with a prefix. The last byte of the prefix must be ASCII. */
function rangeOf(prefix: Buffer): KeyRange {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return { key: prefix, range_end: end };
}

/** Returns a text that sorts like the number, up to the largest safe integer. */
function digits(revision: number): string {
  return String(revision).padStart(16, '0');
}
