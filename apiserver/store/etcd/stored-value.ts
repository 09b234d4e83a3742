/**
 * The bytes of an object. They are in the value itself or, if they were staged because of their size, in parts with
 * their own keys.
 */
export type StoredData =
  | { readonly kind: 'inline'; readonly data: Uint8Array }
  | { readonly kind: 'parts'; readonly id: string; readonly size: number };

export interface StoredObject {
  readonly revision: number;
  readonly bytes: StoredData;
}

const newline = 0x0a;

/**
 * Returns the stored form of an object: a line with its revision, and the id and the size of its parts if it has any;
 * then its bytes if it has no parts.
 */
export function formatObject({ revision, bytes }: StoredObject): Buffer {
  if (bytes.kind === 'parts') return Buffer.from(`${revision} ${bytes.id} ${bytes.size}\n`);
  return Buffer.concat([Buffer.from(`${revision}\n`), bytes.data]);
}

export function parseObject(value: Buffer): StoredObject {
  const end = value.indexOf(newline);
  const [revision, id, size] = value.toString('latin1', 0, end).split(' ');
  const bytes: StoredData =
    id === undefined ? { kind: 'inline', data: value.subarray(end + 1) } : { kind: 'parts', id, size: Number(size) };
  return { revision: Number(revision), bytes };
}

export interface LoggedChange {
  readonly revision: number;
  readonly op: 'create' | 'update' | 'delete';
  readonly kind: number;
  readonly key: string;
  /**
   * The new state. For a deletion: the last state of the object, or undefined when it equals the state in `previous`.
   */
  readonly bytes: StoredData | undefined;
  readonly previous: StoredObject | undefined;
}

export interface LogRecord {
  /** The id of the transaction that wrote this record and its changes. */
  readonly commit: string;
  readonly changes: readonly LoggedChange[];
}

/**
 * The entry for an object's bytes in the first line of a stored {@link LogRecord}: the number of bytes and, for a large
 * object, the id of the parts in which its bytes are stored under keys of their own.
 */
interface Extent {
  readonly size: number;
  readonly parts?: string;
}

interface RecordLine {
  readonly commit: string;
  readonly changes: readonly {
    readonly revision: number;
    readonly op: LoggedChange['op'];
    readonly kind: number;
    readonly key: string;
    readonly data?: Extent;
    readonly previous?: Extent & { readonly revision: number };
  }[];
}

/**
 * Returns the stored form of a record: a line of JSON that describes the changes; then, without gaps, the bytes of the
 * objects, except of large objects, whose bytes are stored in parts under keys of their own.
 */
export function formatRecord({ commit, changes }: LogRecord): Buffer {
  const data: Uint8Array[] = [];
  const extent = (bytes: StoredData): Extent => {
    if (bytes.kind === 'parts') return { size: bytes.size, parts: bytes.id };
    data.push(bytes.data);
    return { size: bytes.data.byteLength };
  };
  const line: RecordLine = {
    commit,
    changes: changes.map(({ revision, op, kind, key, bytes, previous }) => ({
      revision,
      op,
      kind,
      key,
      ...(bytes && { data: extent(bytes) }),
      ...(previous && { previous: { revision: previous.revision, ...extent(previous.bytes) } }),
    })),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), ...data]);
}

export function parseRecord(value: Buffer): LogRecord {
  const end = value.indexOf(newline);
  // The format is not checked, because only this program writes below the prefix.
  const { commit, changes } = JSON.parse(value.toString('utf8', 0, end)) as RecordLine;
  let at = end + 1;
  const bytesOf = ({ size, parts }: Extent): StoredData => {
    if (parts !== undefined) return { kind: 'parts', id: parts, size };
    const from = at;
    at += size;
    return { kind: 'inline', data: value.subarray(from, at) };
  };
  return {
    commit,
    changes: changes.map(({ revision, op, kind, key, data, previous }) => ({
      revision,
      op,
      kind,
      key,
      bytes: data && bytesOf(data),
      previous: previous && { revision: previous.revision, bytes: bytesOf(previous) },
    })),
  };
}

/** Returns the id of the transaction that wrote a record. */
export function commitOf(value: Buffer): string {
  return parseRecord(value).commit;
}
