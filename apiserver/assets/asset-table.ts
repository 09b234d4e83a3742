import { AssetFolder } from './asset-folder.ts';

/** The folders whose files are served, each under `/plugins/<name>/assets/`. */
export interface Assets {
  /**
   * Starts to serve the files of a folder, which is given as a real path. Responses have the headers ETag and
   * Last-Modified, and clients may request ranges of bytes. The response for a folder is its `index.html`. A file whose
   * name begins with a dot is never served. A link to a file outside of the folder is not followed. Returns a function
   * that stops the serving and cuts off the responses that are in progress.
   * @throws Error while a folder of that name is served.
   */
  open(name: string, folder: string): () => void;
}

/** Maps the name of each plugin to the folder whose files are served for the plugin. */
export class AssetTable implements Assets {
  readonly #folders = new Map<string, AssetFolder>();

  open(name: string, folder: string): () => void {
    if (this.#folders.has(name)) throw new Error(`the plugin "${name}" has assets already`);
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
