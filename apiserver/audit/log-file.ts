import { constants } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

export interface LogFileSettings {
  readonly path: string;
  /** A file that would grow beyond this size is rotated. */
  readonly maxBytes: number;
  /**
   * A file whose first entry is older than this is rotated. A rotated file is deleted when its rotation was longer ago
   * than this. undefined: files are neither rotated nor deleted because of their age.
   */
  readonly maxAgeMs?: number | undefined;
  /** The number of rotated files that are kept. */
  readonly maxBackups: number;
}

const firstTime = /"stageTimestamp":"([^"]{1,40})"/;

/** An append-only file of lines, which only its owner can read. It is rotated by size and age. */
export class LogFile {
  readonly #settings: LogFileSettings;
  #handle: FileHandle | undefined;
  #size = 0;
  #sinceMs: number | undefined;
  /** True for a regular file. A device or a pipe cannot be rotated. */
  #isFile = false;
  /** True after a write that failed in the middle of a line. */
  #isTorn = false;

  constructor(settings: LogFileSettings) {
    this.#settings = settings;
  }

  /** Opens the file, and creates it when it is absent. Rejects when it cannot be opened. */
  async open(): Promise<FileHandle> {
    const { path } = this.#settings;
    const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOCTTY;
    const handle = await open(path, flags, 0o600);
    try {
      const { size, mode } = await handle.stat();
      this.#isFile = (mode & constants.S_IFMT) === constants.S_IFREG;
      if (this.#isFile && (mode & 0o077) !== 0) await handle.chmod(0o600);
      this.#size = this.#isFile ? size : 0;
      this.#sinceMs = this.#size > 0 ? await firstTimeOf(path) : undefined;
      this.#handle = handle;
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Writes all lines. Rejects when not all could be written; the next call then opens the file again. */
  async append(lines: Buffer, nowMs: number): Promise<void> {
    let handle = this.#handle ?? (await this.open());
    if (this.#mustRotate(lines.length, nowMs)) handle = await this.#rotate(nowMs);
    try {
      await this.#writeAll(handle, this.#isTorn ? Buffer.concat([Buffer.from('\n'), lines]) : lines);
      this.#isTorn = false;
      this.#sinceMs ??= nowMs;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Deletes rotated files that are too old or too many. */
  async prune(nowMs: number): Promise<void> {
    const { maxAgeMs = Number.POSITIVE_INFINITY, maxBackups, path } = this.#settings;
    const rotated = (await rotatedFiles(path)).toReversed();
    for (const [index, file] of rotated.entries()) {
      if (index >= maxBackups || nowMs - file.rotatedMs > maxAgeMs) await rm(file.path, { force: true });
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      try {
        const { bytesWritten } = await handle.write(bytes, written);
        if (bytesWritten === 0) throw new Error('no byte could be written');
        written += bytesWritten;
        this.#size += bytesWritten;
      } catch (error) {
        if (written > 0) this.#isTorn = bytes[written - 1] !== newline;
        throw error;
      }
    }
  }

  #mustRotate(bytes: number, nowMs: number): boolean {
    const { maxBytes, maxAgeMs = Number.POSITIVE_INFINITY } = this.#settings;
    if (!this.#isFile || this.#size === 0) return false;
    return this.#size + bytes > maxBytes || nowMs - (this.#sinceMs ?? nowMs) > maxAgeMs;
  }

  async #rotate(nowMs: number): Promise<FileHandle> {
    const { path } = this.#settings;
    await this.close();
    await rename(path, await freeName(path, nowMs));
    this.#isTorn = false;
    const handle = await this.open();
    await this.prune(nowMs);
    return handle;
  }
}

const newline = 10;

/** A file that was rotated. */
interface RotatedFile {
  readonly path: string;
  readonly rotatedMs: number;
}

/** Returns the rotated files of a log, oldest first. */
export async function rotatedFiles(path: string): Promise<readonly RotatedFile[]> {
  const folder = dirname(path);
  const { start, end } = nameParts(path);
  const names = await readdir(folder);
  return names
    .filter((name) => name.startsWith(start) && name.endsWith(end))
    .map((name) => ({
      path: join(folder, name),
      rotatedMs: timeIn(name.slice(start.length, name.length - end.length)),
    }))
    .filter(({ rotatedMs }) => !Number.isNaN(rotatedMs))
    .toSorted((a, b) => a.rotatedMs - b.rotatedMs || (a.path < b.path ? -1 : 1));
}

/** Returns a free name for a file that is rotated now, such as `audit-2026-11-22T19-10-13.123.log` for `audit.log`. */
async function freeName(path: string, nowMs: number): Promise<string> {
  const { start, end } = nameParts(path);
  for (let atMs = nowMs; ; atMs += 1) {
    const time = new Date(atMs).toISOString().slice(0, -1).replaceAll(':', '-');
    const name = join(dirname(path), `${start}${time}${end}`);
    const isTaken = await stat(name).then(
      () => true,
      () => false,
    );
    if (!isTaken) return name;
  }
}

function nameParts(path: string): { readonly start: string; readonly end: string } {
  const end = extname(path);
  return { start: `${basename(path, end)}-`, end };
}

function timeIn(text: string): number {
  const [, day, hours, minutes, seconds] = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(text) ?? [];
  return day === undefined ? Number.NaN : Date.parse(`${day}${hours}:${minutes}:${seconds}Z`);
}

/** Returns the time of the first entry in a file; undefined when its first 16 KiB contain no time. */
async function firstTimeOf(path: string): Promise<number | undefined> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16 * 1024), 0, 16 * 1024, 0);
    const [, time] = firstTime.exec(buffer.toString('latin1', 0, bytesRead)) ?? [];
    const atMs = Date.parse(time ?? '');
    return Number.isNaN(atMs) ? undefined : atMs;
  } finally {
    await handle.close();
  }
}
