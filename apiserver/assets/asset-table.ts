import { AssetFolder } from './asset-folder.ts';

/** The folders whose files are served, each under `/plugins/<name>/assets/`. */
export interface Assets {
  /**
   * Serves the files of a folder, a real path, from now on: reads with ETag, Last-Modified and ranges, `index.html` for a
   * folder. No file that begins with a dot, and none that a link leads to outside. Answers what ends that, and cuts
   * off answers under way.
   * @throws Error while a folder of that name is served.
   */
  open(name: string, folder: string): () => void;
}

/** The folders that are served now, by name. */
export class AssetTable implements Assets {
  readonly #folders = new Map<string, AssetFolder>();

  open(name: string, folder: string): () => void {
    if (this.#folders.has(name)) throw new Error(`"${name}" has assets already`);
    const opened = new AssetFolder(folder);
    this.#folders.set(name, opened);
    return () => {
      if (this.#folders.get(name) === opened) this.#folders.delete(name);
      opened.close();
    };
  }

  find(name: string): AssetFolder | undefined {
    return this.#folders.get(name);
  }
}
