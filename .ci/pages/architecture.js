// Makes the list of source folders in docs/architecture.md: each folder with its purpose, and with the folders of its
// package that it imports, from .ci/doors.yaml.
import { doors, tableProblems } from '../doors.js';
import { readCommitted, root } from './test-titles.js';

export const page = 'docs/architecture.md';

const place = /<!-- rooms -->[^]*?<!-- end of rooms -->/;

/** Returns docs/architecture.md with the list of the folders in .ci/doors.yaml, and the problems of .ci/doors.yaml. */
export function architecture() {
  const text = readCommitted(page);
  if (!place.test(text))
    return {
      problems: [`${page} has no comments <!-- rooms --> and <!-- end of rooms --> around the list of folders`],
    };
  return { text: text.replace(place, () => rooms()), problems: tableProblems(root) };
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
