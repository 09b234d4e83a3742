import type { Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { Readable } from 'node:stream';

export interface AssetFile {
  readonly kind: 'file';
  /** Segments of the real path below the folder: links are resolved. */
  readonly segments: readonly string[];
  /**
   * Weak ETag, of more than size and time of modification: files that are unpacked from an archive may all bear one time.
   */
  readonly tag: string;
}

/** What stands at a path. */
export type Asset = AssetFile | { readonly kind: 'folder' };

/** A folder whose files are served. */
export class AssetFolder {
  /** A real path. */
  readonly root: string;
  readonly #streams = new Set<Readable>();
  #isClosed = false;

  constructor(root: string) {
    this.root = root;
  }

  /**
   * What stands at a path; undefined when nothing does that is to be served: no regular file and no folder, hidden by a
   * name that begins with a dot, or outside, be it by a link.
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

  /** The content of a file that is being sent: it ends when the folder is closed. */
  track(stream: Readable): Readable {
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    return this.#isClosed ? stream.destroy() : stream;
  }

  /** Cuts off what is being sent. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.destroy();
  }
}

/** A name of one file: no way up, nothing hidden, nothing that a file system reads as more than a name. */
function isServable(segment: string): boolean {
  // oxlint-disable-next-line no-control-regex -- these are what is refused
  return segment !== '' && !segment.startsWith('.') && !/[/\\\x00-\x1f\x7f]/.test(segment);
}

function tagOf({ size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `W/"${[size, mtimeMs, ctimeMs, ino].map((each) => Math.floor(each).toString(36)).join('-')}"`;
}

const pathErrors: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES'];

/** Something is wrong with the path, and not with the disk. */
export function isUnreachable(error: unknown): boolean {
  return pathErrors.includes((error as NodeJS.ErrnoException).code);
}
