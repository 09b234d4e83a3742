import { createHash } from 'node:crypto';

import { type HashSecret, keyHash } from '../../base/key-hash.ts';
import { RevisionTable } from './revision-table.ts';
import type { RevisionPairs } from './revision-table.ts';
import type { SqlDatabase } from './sqlite-binding.ts';
import * as sql from './sqlite-statements.ts';

/** A copy of {@link PresentObjects} at a revision, which is stored in the database. */
export interface PresentCopy {
  readonly revision: number;
  readonly secret: HashSecret;
  readonly tables: ReadonlyMap<number, RevisionTable>;
}

interface StoredPairs {
  readonly kind: number;
  readonly hashes: Uint8Array;
  readonly revisions: Uint8Array;
}

/**
 * The approximate number of rows of each kind's table in a {@link PresentCopy} that are compared with the database
 * before a start uses the copy.
 */
const samplesOfKind = 64;

/** Stores the tables of {@link PresentObjects} in the database, for the next start. Call this in a transaction. */
export function writePresentCopy(database: SqlDatabase, { revision, secret, tables }: PresentCopy): void {
  database.exec(sql.dropPresent);
  const add = database.prepare(sql.addPresent);
  const stored: StoredPairs[] = [];
  for (const [kind, table] of [...tables].sort(([a], [b]) => a - b)) {
    if (table.size === 0) continue;
    const { hashes, revisions } = table.pairs();
    stored.push({ kind, hashes: bytesOf(hashes), revisions: bytesOf(revisions) });
  }
  for (const { kind, hashes, revisions } of stored) add.run(kind, hashes, revisions);
  const numbers = [revision, ...secret].join(' ');
  database.prepare(sql.setMeta).run('present', `${numbers} ${digestOf(numbers, stored)}`);
}

/**
 * Reads the copy of {@link PresentObjects}. Returns undefined when there is no copy, or when it does not fit the
 * database: then all rows must be read.
 */
export function readPresentCopy(database: SqlDatabase): PresentCopy | undefined {
  const header = database.prepare<{ readonly value: string }>(sql.getMeta).get('present')?.value;
  const [revision = '', low = '', high = '', digest] = header?.split(' ') ?? [];
  const stored = database.prepare<StoredPairs>(sql.listPresent).all();
  if (digest !== digestOf(`${revision} ${low} ${high}`, stored)) return undefined;
  const secret: HashSecret = [Number(low), Number(high)];
  const goneRows = database.prepare<{ readonly revision: number }>(sql.listGone).all();
  const gone = new Set(goneRows.map((row) => row.revision));
  const tables = new Map<number, RevisionTable>();
  for (const each of stored) {
    const pairs = without(pairsOf(each), gone);
    if (!isSampleRight(database, { ...pairs, kind: each.kind, secret })) return undefined;
    tables.set(each.kind, RevisionTable.of(pairs));
  }
  return { revision: Number(revision), secret, tables };
}

function digestOf(numbers: string, stored: readonly StoredPairs[]): string {
  const hash = createHash('sha256').update(numbers);
  for (const { kind, hashes, revisions } of stored) {
    hash.update(` ${kind} ${hashes.byteLength} ${revisions.byteLength} `).update(hashes).update(revisions);
  }
  return hash.digest('base64');
}

function bytesOf(array: Uint32Array | Float64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function pairsOf({ hashes, revisions }: StoredPairs): RevisionPairs {
  // The bytes are copied, because typed arrays need alignment and a row may begin anywhere in a buffer.
  return {
    hashes: new Uint32Array(new Uint8Array(hashes).buffer),
    revisions: new Float64Array(new Uint8Array(revisions).buffer),
  };
}

function without({ hashes, revisions }: RevisionPairs, gone: ReadonlySet<number>): RevisionPairs {
  if (gone.size === 0) return { hashes, revisions };
  const isLeft = (_: number, at: number): boolean => !gone.has(revisions[at] ?? 0);
  return { hashes: hashes.filter(isLeft), revisions: revisions.filter(isLeft) };
}

function isSampleRight(
  database: SqlDatabase,
  { hashes, revisions, kind, secret }: RevisionPairs & { readonly kind: number; readonly secret: HashSecret },
): boolean {
  const find = database.prepare<{ readonly kind: number; readonly key: string }>(sql.getOwner);
  const step = Math.max(1, Math.floor(revisions.length / samplesOfKind));
  for (let at = 0; at < revisions.length; at += step) {
    const found = find.get(revisions[at] ?? 0);
    if (found === undefined || found.kind !== kind || keyHash(found.key, secret) !== hashes[at]) return false;
  }
  return true;
}
