// The rooms of docs/architecture.md: each source folder with its purpose and its imports, from .ci/doors.yaml.
import { existsSync, readdirSync } from 'node:fs';
import { doors, isTestFile } from './doors.js';
import { readCommitted, root } from './test-titles.js';

export const page = 'docs/architecture.md';

const place = /<!-- rooms -->[^]*?<!-- end of rooms -->/;

/** The page with the rooms of the table. */
export function architecture() {
  const text = readCommitted(page);
  if (!place.test(text)) return { problems: [`${page} has no place for the rooms (<!-- rooms -->)`] };
  return { text: text.replace(place, () => rooms()), problems: [...staleRows(), ...crowdedRooms()] };
}

/** The maximum number of files in a folder, so that a reader can keep them in mind. Tests do not count. */
const mostFiles = 25;

function roomPaths() {
  return doors().flatMap(({ home, rows }) => rows.map(({ folder }) => `${home}/${folder}`));
}

function staleRows() {
  return roomPaths()
    .filter((path) => !existsSync(`${root}/${path}`))
    .map((path) => `.ci/doors.yaml: there is no folder ${path}`);
}

function crowdedRooms() {
  const counted = roomPaths()
    .filter((path) => existsSync(`${root}/${path}`))
    .map((path) => ({ path, files: sourceFiles(`${root}/${path}`) }));
  return counted
    .filter(({ files }) => files > mostFiles)
    .map(({ path, files }) => `${path} has ${files} source files; a folder may have ${mostFiles}: divide it`);
}

function sourceFiles(folder) {
  return readdirSync(folder).filter((name) => name.endsWith('.ts') && !isTestFile(name)).length;
}

function rooms() {
  const sections = doors().map(({ home, rows }) => [`### ${home}`, '', ...rows.map(lineOf), ''].join('\n'));
  return [
    '<!-- rooms -->',
    '',
    '<!-- prettier-ignore-start -->',
    '<!-- Written by npm run spec, from .ci/doors.yaml. -->',
    '',
    ...sections,
    '<!-- prettier-ignore-end -->',
    '',
    '<!-- end of rooms -->',
  ].join('\n');
}

function lineOf({ folder, about, folders }) {
  const from = folders.map((each) => (each === '.' ? 'the entry' : each)).join(', ');
  return `- **${folder === '.' ? 'entry' : folder}** ${from === '' ? '' : `→ ${from} `}— ${about}`;
}
