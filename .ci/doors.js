// The table of .ci/doors.yaml, and the questions that are asked of it: by the linter, and by the page that shows it.
import { readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { load } from 'js-yaml';

const file = '.ci/doors.yaml';
const packages = load(readFileSync(resolve(import.meta.dirname, 'doors.yaml'), 'utf8'));

/** Tests use what they test from any folder of their package. */
const testFile = /\.(test|contract|fixture|test-support)\.ts$/;

/** The package of a file and the folder in it, `.` being the package's own; undefined for files of no package in the table. */
function placeOf(path) {
  const home = Object.keys(packages).find((name) => path.startsWith(`${name}/`));
  if (home === undefined) return undefined;
  const rest = path.slice(home.length + 1);
  return { home, folder: rest.includes('/') ? rest.slice(0, rest.indexOf('/')) : '.' };
}

/** What an import means in the table: a folder of the same package, `node:`, or the name of a package or entry. */
function targetOf(path, source, home) {
  if (source.startsWith('.')) {
    const place = placeOf(posix.join(posix.dirname(path), source));
    return place?.home === home ? place.folder : undefined;
  }
  if (source.startsWith('node:')) return 'node:';
  if (/^(@homeostat\/|homeostat(\/|$))/.test(source)) return source;
  return source.split('/', source.startsWith('@') ? 2 : 1).join('/');
}

/** Why a file (a path from the root, with `/`) may not import a module; undefined when it may. */
export function closedDoor(path, source) {
  const place = placeOf(path);
  if (place === undefined || testFile.test(path)) return undefined;
  const { home, folder } = place;
  const row = packages[home][folder];
  if (row === undefined)
    return `${home}/${folder} has no row in ${file}: say there what it is for and what it may import.`;
  const target = targetOf(path, source, home);
  // Another package by a relative path is refused by public-entries-only.
  if (target === undefined || target === folder || row.imports.includes(target)) return undefined;
  const from = folder === '.' ? home : `${home}/${folder}`;
  return `${from} may not import ${target}. It may import ${row.imports.join(', ')} (${file}), since this is what it is for: ${row.about}`;
}

/** The rows in order, each with its name, what it is for, the folders of its package that it imports, and other modules. */
export function doors() {
  return Object.entries(packages).map(([home, rows]) => ({
    home,
    rows: Object.entries(rows).map(([folder, { about, imports }]) => ({
      folder,
      about,
      folders: imports.filter((each) => each === '.' || Object.hasOwn(rows, each)),
      modules: imports.filter((each) => each !== '.' && !Object.hasOwn(rows, each)),
    })),
  }));
}
