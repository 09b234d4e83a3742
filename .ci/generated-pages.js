// `npm run spec` writes the generated pages: docs/spec-conformance.md and the tables of
// docs/kubernetes-compatibility.md from the tests, the list of folders in docs/architecture.md, and the pages of
// docs/reference. `npm run spec:check` fails when a page has an error or is stale.
import { writeFileSync } from 'node:fs';
import * as architecture from './pages/architecture.js';
import * as compatibility from './pages/kubernetes-compatibility.js';
import { referencePages } from './pages/reference-pages.js';
import * as specification from './pages/spec-conformance.js';
import { loadedTests, malformedTags, readCommitted, root } from './pages/test-titles.js';

const isCheck = process.argv.includes('--check');
const tests = loadedTests();

/** Writes a page, or reports that it is stale. */
function publish(page, text) {
  if (text === undefined || text === readCommitted(page)) return [];
  if (isCheck) return [`${page} is stale: run npm run spec, and commit the page`];
  writeFileSync(`${root}/${page}`, text);
  return [];
}

const { text, problems } = specification.conformance(tests);
const table = compatibility.compatibility(tests);
const rooms = architecture.architecture();
const reference = await referencePages();
const all = [
  ...malformedTags(tests),
  ...problems,
  ...table.problems,
  ...publish(specification.page, text),
  ...publish(compatibility.page, table.text),
  ...rooms.problems,
  ...publish(architecture.page, rooms.text),
  ...reference.problems,
  ...reference.pages.flatMap(([page, content]) => publish(page, content)),
];
for (const problem of all) console.log(problem);
if (all.length > 0) process.exitCode = 1;
