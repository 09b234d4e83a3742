import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PagePlan } from './steps.ts';

const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url));

// The compiler options of a user's project. They do not include `noUnusedLocals` and `noUnusedParameters`, because a
// snippet may have unused names.
const compilerOptions = {
  target: 'es2023',
  lib: ['es2023', 'esnext.decorators', 'esnext.disposable'],
  module: 'nodenext',
  strict: true,
  skipLibCheck: true,
  types: ['node'],
};

/** A package in a temporary folder. It can import the packages of this repository, and has a folder for each page. */
export class BookFolder {
  readonly path: string;
  readonly #projects: string[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<BookFolder> {
    const book = new BookFolder(await mkdtemp(join(tmpdir(), 'homeostat-book-')));
    await book.#write('package.json', JSON.stringify({ type: 'module' }));
    await symlink(modules, join(book.path, 'node_modules'));
    return book;
  }

  /** The folder with the executables of the repository's packages and their dependencies, such as `tsc`. */
  get programs(): string {
    return join(this.path, 'node_modules', '.bin');
  }

  async addPage(name: string, { files }: PagePlan): Promise<void> {
    await mkdir(join(this.path, name));
    for (const [path, text] of files) await this.#write(join(name, path), text);
    if ([...files.keys()].some((path) => /^[^/]+\.ts$/.test(path))) await this.#addProject(name, {});
    for (const folder of pluginsOf(files)) await this.#addProject(join(name, folder), { rootDir: '.', outDir: 'dist' });
  }

  /**
   * Compiles all pages at once. Returns the compiler's errors with relative paths, and with line numbers in the pages.
   */
  async compile(): Promise<readonly string[]> {
    const printed = await new Promise<string>((resolve) => {
      const options = { cwd: this.path };
      execFile(join(this.programs, 'tsc'), ['-b', ...this.#projects], options, (_error, stdout) => resolve(stdout));
    });
    return printed.split('\n').filter((line) => line !== '');
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  async #addProject(folder: string, options: Readonly<Record<string, string>>): Promise<void> {
    const config = { compilerOptions: { ...compilerOptions, ...options }, include: ['*.ts'] };
    await this.#write(join(folder, 'tsconfig.json'), JSON.stringify(config));
    this.#projects.push(folder);
  }

  async #write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.path, path)), { recursive: true });
    await writeFile(join(this.path, path), text);
  }
}

/**
 * Returns the folders that have a manifest. Leaves out folders with a `tsconfig.json`, because the page itself compiles
 * them.
 */
function pluginsOf(files: PagePlan['files']): readonly string[] {
  return [...files.keys()]
    .filter((path) => basename(path) === 'plugin.yaml')
    .map((path) => dirname(path))
    .filter((folder) => !files.has(join(folder, 'tsconfig.json')));
}
