import { sleep } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface FolderWatcherParts {
  readonly folder: string;
  /**
   * Called with a path relative to the folder, with `/` as separator. A file or folder for which it returns false is
   * ignored.
   */
  readonly wants: (path: string, isFolder: boolean) => boolean;
  readonly clock: Clock;
}

/** The interval between two scans of a folder. Changes within that time are reported together. */
const pollMs = 250;

/**
 * The maximum number of files. A plugin has hundreds of files; a folder with more than the maximum has other content.
 */
const maxFiles = 10_000;

/** The time of the last change and the size of each file, by its path. */
type Snapshot = ReadonlyMap<string, string>;

/**
 * Reports which files of a folder changed. It polls, because notifications of the file system may be lost (network,
 * containers), and differ by platform. They also do not name a file that an editor replaces by renaming another file.
 */
export class FolderWatcher {
  readonly #parts: FolderWatcherParts;
  /** The files at the time of the last report, or at the start. */
  #told: Snapshot;
  #seen: Snapshot;

  private constructor(parts: FolderWatcherParts, seen: Snapshot) {
    this.#parts = parts;
    this.#told = seen;
    this.#seen = seen;
  }

  /** Starts a watcher, which reports the changes since this call. Rejects when the folder cannot be read. */
  static async start(options: FolderWatcherParts): Promise<FolderWatcher> {
    return new FolderWatcher(options, await takeSnapshot(options));
  }

  /**
   * Resolves with the files that were changed, added or removed since the last result, once no file has changed for 250
   * ms; with undefined once the signal aborts. Rejects when the folder can no longer be read.
   */
  async next(signal: AbortSignal): Promise<readonly string[] | undefined> {
    for (;;) {
      await sleep(this.#parts.clock, pollMs, signal);
      if (signal.aborted) return undefined;
      const now = await takeSnapshot(this.#parts);
      const isAtRest = differing(this.#seen, now).length === 0;
      this.#seen = now;
      const changed = differing(this.#told, now);
      if (!isAtRest || changed.length === 0) continue;
      this.#told = now;
      return changed;
    }
  }
}

function differing(before: Snapshot, after: Snapshot): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}

async function takeSnapshot(options: FolderWatcherParts): Promise<Snapshot> {
  const files = new Map<string, string>();
  const waiting = [''];
  for (const below of waiting) {
    const entries = await readdir(join(options.folder, below), { withFileTypes: true }).catch((error: unknown) => {
      // A folder below the watched one was deleted during the scan, so it has no files.
      if (below === '') throw error;
      return [];
    });
    for (const entry of entries) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (!options.wants(path, entry.isDirectory())) continue;
      if (entry.isDirectory()) waiting.push(path);
      else files.set(path, await stampOf(join(options.folder, path)));
    }
    if (files.size > maxFiles) throw new Error(`${options.folder} holds more than ${maxFiles} files to watch`);
  }
  return files;
}

async function stampOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size } = await stat(path);
    return `${mtimeMs} ${size}`;
  } catch {
    return 'gone';
  }
}
