import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { placeInFolder, usualFrames } from '../text/error-stack.ts';
import { buildQuery } from './plugin-modules-hooks.ts';

/** Files that Node loads as modules, and so keeps in memory. A plugin reads other files from disk itself. */
const codeFiles = /\.(?:[cm]?js|json|wasm)$/;

/** The file in which npm lists the installed packages, each with a digest of its content. */
const installedPackages = join('node_modules', '.package-lock.json');

/**
 * The digest of the first build that was loaded from each folder. Entries stay until the process ends, because Node
 * keeps modules for that time.
 */
const firstBuilds = new Map<string, string>();
let isHooked = false;

/**
 * Imports a module of a plugin from its present files. Node cannot unload a module. So code that has changed since the
 * first import is loaded under other URLs, which contain a digest of the build, and the earlier code stays in memory. A
 * build that was loaded before is not loaded again.
 */
export async function importPluginModule(folder: string, file: string): Promise<unknown> {
  const url = pathToFileURL(file);
  const build = await digestOf(folder);
  const first = firstBuilds.get(folder) ?? build;
  firstBuilds.set(folder, first);
  if (build !== first) {
    hookResolution();
    url.search = buildQuery(build, pathToFileURL(folder));
  }
  try {
    return await withDeepStacks(async (): Promise<unknown> => import(url.href));
  } catch (error) {
    throw error instanceof SyntaxError && placeInFolder(error, folder) === undefined
      ? await placedSyntaxError(folder, error)
      : error;
  }
}

/**
 * The number of stack frames that an error keeps while a plugin is being loaded. The check of a model runs many calls
 * below the plugin's line that declares the model, and the stack of its error must reach that line.
 */
const loadingFrames = 60;
let loads = 0;

/**
 * Raises the number of stack frames until `load` ends. Then restores it, because an error with more frames costs more.
 */
async function withDeepStacks<T>(load: () => Promise<T>): Promise<T> {
  loads += 1;
  Error.stackTraceLimit = loadingFrames;
  try {
    return await load();
  } finally {
    loads -= 1;
    if (loads === 0) Error.stackTraceLimit = usualFrames;
  }
}

/**
 * Returns a syntax error with its file and line. Node's error does not have them, so `node --check` runs for each file
 * until one fails.
 */
async function placedSyntaxError(folder: string, error: SyntaxError): Promise<Error> {
  for (const path of (await codeFilesIn(folder)).filter((each) => each.endsWith('js'))) {
    const check = promisify(execFile)(process.execPath, ['--check', join(folder, path)]);
    const said = await check.then(
      () => '',
      (failed: unknown) => (failed instanceof Error && 'stderr' in failed ? String(failed.stderr) : String(failed)),
    );
    const line = /:(\d+)$/m.exec(said)?.[1];
    if (line !== undefined) return new Error(`${path}:${line}: ${error.message}`, { cause: error });
  }
  return error;
}

/**
 * Installs the resolve hook, so that a reload of a module also reloads its imports. Without the hook, Node would not
 * reload them.
 */
function hookResolution(): void {
  if (isHooked) return;
  isHooked = true;
  register(new URL('./plugin-modules-hooks.js', import.meta.url));
}

async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of await codeFilesIn(folder)) hash.update(`${file}\0`).update(await readFile(join(folder, file)));
  return hash.digest('hex').slice(0, 12);
}

async function codeFilesIn(folder: string, path = ''): Promise<readonly string[]> {
  const files: string[] = [];
  const entries = await readdir(join(folder, path), { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const below = path === '' ? entry.name : `${path}${sep}${entry.name}`;
    if (entry.isDirectory() && entry.name !== 'node_modules') files.push(...(await codeFilesIn(folder, below)));
    if (entry.isDirectory() && below === 'node_modules') files.push(...(await listOfPackages(folder)));
    if (entry.isFile() && codeFiles.test(entry.name)) files.push(below);
  }
  return files;
}

async function listOfPackages(folder: string): Promise<readonly string[]> {
  const names = await readdir(join(folder, 'node_modules'));
  return names.includes('.package-lock.json') ? [installedPackages] : [];
}
