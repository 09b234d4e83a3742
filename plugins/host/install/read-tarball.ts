import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** A regular file of an archive. */
export interface TarFile {
  /** A relative path with `/` as separator, and without `..`. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

const blockBytes = 512;
/** The maximum number of bytes of an archive, both compressed and decompressed. */
export const maxArchiveBytes: number = 256 * 1024 * 1024;
const maxEntries = 50_000;

/**
 * The number of entries that are read in one turn of the event loop. They take about a millisecond, so that a server
 * that reads an archive still responds.
 */
const entriesPerTurn = 100;

/** The longest path on Linux. */
const maxPathBytes = 4096;

/** The maximum size of an extended header. It has the path of the next entry, and perhaps times and a comment. */
const maxDescriptionBytes = 64 * 1024;

/**
 * Returns the files of a `.tgz` in the ustar format. Long names may be in pax headers, as npm writes them, or in GNU
 * tar's own headers. Rejects with an Error that names the entry when a path leads out of the archive, or an entry is a
 * link or a device. Also rejects when the archive is damaged, larger than 256 MiB, or has more than 50,000 entries.
 */
export async function readTarball(tarball: Uint8Array): Promise<readonly TarFile[]> {
  return readEntries(await promisify(gunzip)(tarball, { maxOutputLength: maxArchiveBytes }));
}

/** Returns the files in the decompressed bytes of an archive. */
export async function readEntries(bytes: Buffer): Promise<readonly TarFile[]> {
  const files: TarFile[] = [];
  let longPath: string | undefined;
  let entries = 0;
  for (let at = 0; at + blockBytes <= bytes.length && bytes[at] !== 0;) {
    const header = readHeader(bytes.subarray(at, at + blockBytes));
    const start = at + blockBytes;
    if (start + header.size > bytes.length) throw new Error(`${header.path}: is cut off`);
    const content = bytes.subarray(start, start + header.size);
    at = start + Math.ceil(header.size / blockBytes) * blockBytes;
    entries += 1;
    if (entries > maxEntries) throw new Error(`has more than ${maxEntries} entries`);
    if (entries % entriesPerTurn === 0) await nextTurn();
    if (extensions.has(header.type) && header.size > maxDescriptionBytes)
      throw new Error(`${header.path}: an extended header is longer than ${maxDescriptionBytes} bytes`);
    if (header.type === 'x') longPath = paxPath(content) ?? longPath;
    if (header.type === 'L') longPath = gnuPath(content);
    if (extensions.has(header.type)) continue;
    const path = checkPath(longPath ?? header.path);
    longPath = undefined;
    if (header.type === '5') continue;
    if (header.type !== '0') throw new Error(`${path}: is not a file, but a link or a device`);
    files.push({ path, bytes: content });
  }
  if (entries === 0) throw new Error('is empty');
  return files;
}

interface Header {
  readonly path: string;
  readonly size: number;
  /**
   * `0` is a file, `5` a folder, `x` and `g` are pax headers, `L` and `K` GNU tar's headers for a long name and a long
   * link.
   */
  readonly type: string;
}

/** The types of extended headers, which describe the entries after them. */
const extensions: ReadonlySet<string> = new Set(['x', 'g', 'L', 'K']);

function readHeader(block: Buffer): Header {
  const name = textAt(block, 0, 100);
  // GNU tar's own format has "ustar" with two spaces here, and other fields in the bytes of the prefix.
  const prefix = textAt(block, 257, 6) === 'ustar' ? textAt(block, 345, 155) : '';
  const path = prefix === '' ? name : `${prefix}/${name}`;
  const size = octalAt(block, 124, 12);
  if (Number.isNaN(size) || octalAt(block, 148, 8) !== checksumOf(block)) throw new Error(`${path}: a damaged header`);
  const type = String.fromCharCode(block[156] ?? 0).replace('\0', '0');
  return { path, size, type };
}

/** The sum of all bytes of the header, with spaces in place of the checksum. */
function checksumOf(block: Buffer): number {
  return block.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 0x20 : byte), 0);
}

function textAt(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString('utf8');
}

function octalAt(block: Buffer, start: number, length: number): number {
  const digits = textAt(block, start, length).trim();
  return /^[0-7]{1,11}$/.test(digits) ? parseInt(digits, 8) : NaN;
}

/** Returns the path in a pax header, which consists of records such as `<length> path=<value>\n`. */
function paxPath(content: Buffer): string | undefined {
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.subarray(at, space).toString('latin1'));
    if (space < 0 || !Number.isInteger(length) || length <= 0) throw new Error('a damaged pax header');
    const [key, value] = content
      .subarray(space + 1, at + length - 1)
      .toString('utf8')
      .split(/=(.*)/s, 2);
    if (key === 'path') return value;
    at += length;
  }
  return undefined;
}

/** Returns the long name from the content of a GNU tar header. The name ends at the first NUL. */
function gnuPath(content: Buffer): string {
  return textAt(content, 0, content.length);
}

function checkPath(path: string): string {
  if (Buffer.byteLength(path) > maxPathBytes)
    throw new Error(`${JSON.stringify(`${path.slice(0, 100)}…`)}: is longer than ${maxPathBytes} bytes`);
  const isInside = path !== '' && !path.startsWith('/') && !/[\\\0]/.test(path) && !path.split('/').includes('..');
  if (!isInside) throw new Error(`${JSON.stringify(path)}: is not a path inside the archive`);
  return path;
}
