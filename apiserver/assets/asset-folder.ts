import type { Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { Readable } from 'node:stream';

export interface AssetFile {
  readonly kind: 'file';
  /** Segments of the real path below the folder: links are resolved. */
  readonly segments: readonly string[];
  /**
   * Weak ETag, made of more than size and modification time: files from an archive may all have the same time.
   */
  readonly tag: string;
}

/** A file or folder at a path. */
export type Asset = AssetFile | { readonly kind: 'folder' };

/** A folder whose files are served. */
export class AssetFolder {
  /** The real path of the folder. */
  readonly root: string;
  readonly #streams = new Set<Readable>();
  #isClosed = false;

  constructor(root: string) {
    this.root = root;
  }

  /**
   * Returns the file or folder at a path; undefined when the path leads to nothing that may be served: it is neither a
   * regular file nor a folder, its name begins with a dot, or a link leads outside.
   */
  async find(segments: readonly string[]): Promise<Asset | undefined> {
    if (!segments.every(isServable)) return undefined;
    try {
      const path = await realpath(join(this.root, ...segments));
      const way = relative(this.root, path);
      if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return undefined;
      const found = way === '' ? [] : way.split(sep);
      const stats = await stat(path);
      if (!found.every(isServable)) return undefined;
      if (stats.isDirectory()) return { kind: 'folder' };
      return stats.isFile() ? { kind: 'file', segments: found, tag: tagOf(stats) } : undefined;
    } catch (error) {
      if (isUnreachable(error)) return undefined;
      throw error;
    }
  }

  /** Registers the stream of a file that is being sent, so that it ends when the folder is closed. */
  track(stream: Readable): Readable {
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    return this.#isClosed ? stream.destroy() : stream;
  }

  /** Cuts off the files that are being sent. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.destroy();
  }
}

/** True for a plain file name: not `..`, not hidden, and with no character that a file system gives a meaning. */
function isServable(segment: string): boolean {
  // oxlint-disable-next-line no-control-regex -- these are what is refused
  return segment !== '' && !segment.startsWith('.') && !/[/\\\x00-\x1f\x7f]/.test(segment);
}

function tagOf({ size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `W/"${[size, mtimeMs, ctimeMs, ino].map((each) => Math.floor(each).toString(36)).join('-')}"`;
}

const pathErrors: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES'];

/** True for errors that the path causes, and not the disk. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && pathErrors.includes(error.code);
}
