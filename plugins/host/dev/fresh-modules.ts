import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { ImportFile } from '../plugin-folder.ts';
import { buildParameter } from './fresh-modules-hooks.ts';

/**
 * Imports files of a folder as they are now, with all that they import from the folder. Node drops no module: each load
 * of a plugin that was changed stays in memory until the process ends.
 */
export class FreshModules {
  readonly #folder: string;
  #builds = 0;

  /** `folder` is a real path. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** An import for one build: what it has loaded, it does not load again. */
  nextBuild(): ImportFile {
    if (this.#builds === 0) this.#listenToResolutions();
    this.#builds += 1;
    const build = `${this.#builds}`;
    return async (file) => {
      const url = pathToFileURL(file);
      url.searchParams.set(buildParameter, build);
      return import(url.href) as Promise<unknown>;
    };
  }

  #listenToResolutions(): void {
    const data = { folder: `${pathToFileURL(this.#folder).href}/` };
    register(new URL('./fresh-modules-hooks.js', import.meta.url), { data });
  }
}
