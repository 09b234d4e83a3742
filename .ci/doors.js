// Reads .ci/doors.yaml, the table of what each folder may import, for the linter and for docs/architecture.md.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { load } from 'js-yaml';

const file = '.ci/doors.yaml';
const packages = load(readFileSync(resolve(import.meta.dirname, 'doors.yaml'), 'utf8'));

/** The maximum number of source files in a folder, so that a reader can keep them in mind. Test files do not count. */
const maxFiles = 25;

const isSource = (path) => /(?<!\.d)\.tsx?$/.test(path);
const isCode = (path) => isSource(path) || /\.[cm]?jsx?$/.test(path);

/** Folders without rows in the table: folders of scripts, and the examples, each of which is independent. */
const withoutRows = /^(?:\.ci|examples|site)\//;

/** Returns whether a file is for tests. `.ci/doors.yaml` does not limit the imports of such a file. */
export function isTestFile(path) {
  return /\.(test|contract|fixture|test-support)\.tsx?$/.test(path);
}

/**
 * Returns the package of a file, and the file's folder in the package (`.` for the top one); undefined when the table
 * does not have the package.
 */
function placeOf(path) {
  const home = Object.keys(packages).find((name) => path.startsWith(`${name}/`));
  if (home === undefined) return undefined;
  return { home, folder: posix.dirname(path.slice(home.length + 1)) };
}

/**
 * Returns whether an entry of `imports` allows a folder: `registry` allows only that folder, `registry/*` its
 * subfolders as well.
 */
function opens(entry, target) {
  return entry === target || (entry.endsWith('/*') && `${target}/`.startsWith(entry.slice(0, -1)));
}

/**
 * Returns the name that an import has in the table: a folder of the same package, `node:`, the name of an npm package,
 * or the full name of an entry of ours, such as `homeostat/testing`. Returns undefined for a relative path into another
 * package.
 */
function targetOf(path, source, home) {
  if (source.startsWith('.')) {
    const place = placeOf(posix.join(posix.dirname(path), source));
    return place?.home === home ? place.folder : undefined;
  }
  if (source.startsWith('node:')) return 'node:';
  if (/^(@homeostat\/|homeostat(\/|$))/.test(source)) return source;
  return source.split('/', source.startsWith('@') ? 2 : 1).join('/');
}

/**
 * Returns a message when `.ci/doors.yaml` needs a row for the folder of a file, and has none. The path of the file is
 * relative to the root, with `/`.
 */
export function missingRow(path) {
  if (isTestFile(path) || !isSource(path) || withoutRows.test(path)) return undefined;
  const { home, folder } = placeOf(path) ?? {};
  if (packages[home]?.[folder] !== undefined) return undefined;
  return `${posix.dirname(path)} has no row in ${file}: add one with the purpose of the folder and what it may import.`;
}

/**
 * Returns the reason why a file may not import a module; undefined when it may. The path of the file is relative to the
 * root, with `/`.
 */
export function closedDoor(path, source) {
  const place = placeOf(path);
  if (place === undefined || isTestFile(path)) return undefined;
  const { home, folder } = place;
  const row = packages[home][folder];
  // The function missingRow reports a folder without a row.
  if (row === undefined) return undefined;
  const target = targetOf(path, source, home);
  // A relative path into another package has no target here. The lint rule public-entries-only refuses it.
  if (target === undefined || target === folder) return undefined;
  const from = folder === '.' ? home : `${home}/${folder}`;
  if (!row.imports.some((entry) => opens(entry, target)))
    return `${from} may not import ${target}, only ${row.imports.join(', ')} (${file}). The purpose of ${from} is: ${row.about}`;
  const back = wayBack(packages[home], target, folder);
  return (
    back &&
    `${from} may not import ${target}, which imports it (${file}): ${back.join(' → ')}. Remove one of these imports.`
  );
}

const outermost = (folder) => folder.split('/', 1)[0];

/**
 * Returns the cycle of imports that begins with the import of `target` by `folder`; undefined when there is no cycle.
 * If the two folders are in different top-level folders, the cycle consists of top-level folders, whose imports must
 * not form a cycle either.
 */
function wayBack(rows, target, folder) {
  const level = outermost(target) === outermost(folder) ? (name) => name : outermost;
  const ways = [[level(folder), level(target)]];
  const seen = new Set();
  for (const way of ways) {
    const last = way.at(-1);
    if (last === way[0]) return way;
    if (seen.has(last)) continue;
    seen.add(last);
    for (const next of importsOf(rows, last, level)) ways.push([...way, next]);
  }
  return undefined;
}

function importsOf(rows, name, level) {
  const entries = Object.keys(rows)
    .filter((folder) => level(folder) === name)
    .flatMap((folder) => rows[folder].imports);
  const targets = Object.keys(rows).filter((target) => entries.some((entry) => opens(entry, target)));
  return targets.map(level).filter((target) => target !== name);
}

/**
 * Returns the packages, each with one row for each of its folders, in the order of doors.yaml. A row has the folder,
 * its purpose, the folders of the same package that it imports, and the other modules that it imports.
 */
export function doors() {
  return Object.entries(packages).map(([home, rows]) => ({
    home,
    rows: Object.entries(rows).map(([folder, { about, imports }]) => ({
      folder,
      about,
      folders: imports.filter((each) => isFolder(rows, each)),
      modules: imports.filter((each) => !isFolder(rows, each)),
    })),
  }));
}

function isFolder(rows, entry) {
  return Object.hasOwn(rows, entry.replace(/\/\*$/, ''));
}

/**
 * Returns the problems of the table: folders with too many files, rows of folders that do not exist, and allowed
 * imports that no file of the folder uses.
 */
export function tableProblems(root) {
  const rowsProblems = Object.entries(packages).flatMap(([home, rows]) =>
    Object.entries(rows).flatMap(([folder, row]) => rowProblems({ root, home, folder, row })),
  );
  return [...crowded(root, '.'), ...rowsProblems];
}

/** Folders that are not searched, because their content is installed or built, or belongs to Git. */
const notSource = new Set(['node_modules', 'dist', '.git', '.vitepress']);

/**
 * Returns a message for each folder with too many source files. Checks `folder` and all folders below it, including
 * folders that have no row in `doors.yaml`.
 */
function crowded(root, folder) {
  const entries = readdirSync(resolve(root, folder), { withFileTypes: true });
  const count = entries.filter((entry) => entry.isFile() && isCode(entry.name) && !isTestFile(entry.name)).length;
  const below = entries.filter((entry) => entry.isDirectory() && !notSource.has(entry.name));
  return [
    ...(count > maxFiles ? [`${folder} has ${count} source files; a folder may have ${maxFiles}: divide it`] : []),
    ...below.flatMap(({ name }) => crowded(root, posix.join(folder, name))),
  ];
}

function rowProblems({ root, home, folder, row }) {
  const where = posix.join(home, folder);
  if (!existsSync(resolve(root, where))) return [`${file}: there is no folder ${where}`];
  const files = readdirSync(resolve(root, where)).filter((name) => !isTestFile(name));
  const targets = files
    .filter((name) => /\.(tsx?|js)$/.test(name))
    .flatMap((name) => importsIn(readFileSync(resolve(root, where, name), 'utf8')))
    .map((source) => targetOf(`${where}/file`, source, home));
  const idle = row.imports.filter((entry) => !targets.some((target) => target !== undefined && opens(entry, target)));
  return idle.map((entry) => `${file}: no file of ${where} imports ${entry}: remove ${entry} from the folder's row`);
}

/**
 * Returns the modules that a source text imports. It may return a few that only look like imports, which does no harm.
 */
function importsIn(text) {
  const found = text.matchAll(/(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*'([^']+)'/g);
  return Array.from(found, ([, source]) => source);
}
