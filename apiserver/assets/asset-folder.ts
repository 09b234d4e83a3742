import type { Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { Readable } from 'node:stream';

export interface AssetFile {
  readonly kind: 'file';
  /** The segments of the file's real path below the folder, with links resolved. */
  readonly segments: readonly string[];
  /**
   * A weak ETag of size, inode, and times of modification and change. Size and modification time would not be enough,
   * because all files from an archive may have the same time.
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
   * Returns the file or folder at a path; undefined when there is none that may be served. Special files, names that
   * begin with a dot, and links to a path outside of the folder are not served.
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

  /** Ends the responses whose files are still being sent. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.destroy();
  }
}

/** True for a plain file name: not `..`, not hidden, and without characters that have a meaning in a file system. */
function isServable(segment: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the pattern finds control characters
  return segment !== '' && !segment.startsWith('.') && !/[/\\\x00-\x1f\x7f]/.test(segment);
}

function tagOf({ size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `W/"${[size, mtimeMs, ctimeMs, ino].map((each) => Math.floor(each).toString(36)).join('-')}"`;
}

const pathErrors: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES'];

/**
 * True for errors of a path: it is missing, malformed, or not accessible for the server. False for errors of the disk.
 */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && pathErrors.includes(error.code);
}
