// The table of .ci/doors.yaml, and its queries for the linter and for the page that shows it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { load } from 'js-yaml';

const file = '.ci/doors.yaml';
const packages = load(readFileSync(resolve(import.meta.dirname, 'doors.yaml'), 'utf8'));

/** The maximum number of files in a folder, so that a reader can keep them in mind. Tests do not count. */
const maxFiles = 25;

const isSource = (path) => /(?<!\.d)\.tsx?$/.test(path);
const isCode = (path) => isSource(path) || /\.[cm]?jsx?$/.test(path);

/** Folders without rows: they are scripts, or each of them is an example of its own. */
const withoutRows = /^(?:\.ci|examples|site)\//;

/** True for a file of tests, which may import any folder of its package. */
export function isTestFile(path) {
  return /\.(test|contract|fixture|test-support)\.tsx?$/.test(path);
}

/** The package of a file, and its folder in the package (`.` for the top one); undefined when the table has no such package. */
function placeOf(path) {
  const home = Object.keys(packages).find((name) => path.startsWith(`${name}/`));
  if (home === undefined) return undefined;
  return { home, folder: posix.dirname(path.slice(home.length + 1)) };
}

/**
 * True when an entry of a row allows a folder: `registry` allows only that folder, `registry/*` its subfolders as well.
 */
function opens(entry, target) {
  return entry === target || (entry.endsWith('/*') && `${target}/`.startsWith(entry.slice(0, -1)));
}

/** The name of an import in the table: a folder of the same package, `node:`, or the name of a package or entry. */
function targetOf(path, source, home) {
  if (source.startsWith('.')) {
    const place = placeOf(posix.join(posix.dirname(path), source));
    return place?.home === home ? place.folder : undefined;
  }
  if (source.startsWith('node:')) return 'node:';
  if (/^(@homeostat\/|homeostat(\/|$))/.test(source)) return source;
  return source.split('/', source.startsWith('@') ? 2 : 1).join('/');
}

/** Returns a message when the folder of a file (a path from the root, with `/`) has no row, and needs one. */
export function missingRow(path) {
  if (isTestFile(path) || !isSource(path) || withoutRows.test(path)) return undefined;
  const { home, folder } = placeOf(path) ?? {};
  if (packages[home]?.[folder] !== undefined) return undefined;
  return `${posix.dirname(path)} has no row in ${file}: say there what it is for and what it may import.`;
}

/** Returns the reason why a file (a path from the root, with `/`) may not import a module; undefined when it may. */
export function closedDoor(path, source) {
  const place = placeOf(path);
  if (place === undefined || isTestFile(path)) return undefined;
  const { home, folder } = place;
  const row = packages[home][folder];
  // missingRow reports it.
  if (row === undefined) return undefined;
  const target = targetOf(path, source, home);
  // Another package by a relative path is refused by public-entries-only.
  if (target === undefined || target === folder) return undefined;
  const from = folder === '.' ? home : `${home}/${folder}`;
  if (!row.imports.some((entry) => opens(entry, target)))
    return `${from} may not import ${target}. It may import ${row.imports.join(', ')} (${file}), since this is what it is for: ${row.about}`;
  const back = wayBack(packages[home], target, folder);
  return (
    back && `${from} may not import ${target}, which imports it (${file}): ${back.join(' → ')}. One of these has to go.`
  );
}

const outermost = (folder) => folder.split('/', 1)[0];

/**
 * The imports by which a target leads back to the folder that imports it; undefined when none do. When the two lie in
 * different outer folders, those are compared: they may not import each other either.
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

/** The rows in order, each with its name, what it is for, the folders of its package that it imports, and other modules. */
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

/** Returns all folders that are crowded, and what is wrong with the rows: folders that are gone, and imports that none of their files needs. */
export function tableProblems(root) {
  const rowsProblems = Object.entries(packages).flatMap(([home, rows]) =>
    Object.entries(rows).flatMap(([folder, row]) => rowProblems({ root, home, folder, row })),
  );
  return [...crowded(root, '.'), ...rowsProblems];
}

/** Folders whose content is installed or built, or belongs to Git. */
const notSource = new Set(['node_modules', 'dist', '.git', '.vitepress']);

/** A message for each folder with too many files, in a folder and below it. Folders without rows count, too. */
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
  return idle.map((entry) => `${file}: no file of ${where} imports ${entry}: remove it`);
}

/** The modules that a text imports; a few more than the linter would find do no harm. */
function importsIn(text) {
  const found = text.matchAll(/(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*'([^']+)'/g);
  return Array.from(found, ([, source]) => source);
}
