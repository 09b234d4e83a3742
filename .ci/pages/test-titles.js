// Reads the titles of all tests, and the tags at their ends: `[spec <id>]`, `[compat <id>, <id>]` and `[slow]`. A tag
// of a describe applies to all tests in it. mocha loads the tests, so that generated titles count as well. The script
// reads dist, so build first.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { slowTag } from '../tiers.js';

export const root = resolve(import.meta.dirname, '../..');

const tag = /\[(spec|compat) ([^\]]+)\]/g;
const anyTag = /\[\s*(?:spec|compat|slow)\b[^\]]*\]?/gi;

/**
 * Returns every test that mocha would run. Skipped tests are left out, because they prove nothing. Compiled files in
 * dist whose source was deleted are left out, too.
 */
export function loadedTests() {
  const folder = mkdtempSync(join(tmpdir(), 'titles-'));
  const output = join(folder, 'tests.json');
  const mocha = `${root}/node_modules/mocha/bin/mocha.js`;
  const options = ['--no-parallel', '--dry-run', '--reporter', 'json', '--reporter-option', `output=${output}`];
  try {
    const { status, stderr } = spawnSync(process.execPath, [mocha, ...options], { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`mocha could not load the tests:\n${stderr}`);
    const tests = JSON.parse(readFileSync(output, 'utf8')).passes;
    return tests
      .map(({ file, fullTitle, title }) => ({ file: sourceOf(file), fullTitle: separated(fullTitle, title) }))
      .filter(({ file }) => existsSync(`${root}/${file}`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the titles of the describes, and after ` › ` the title of the test. */
function separated(fullTitle, title) {
  const describes = fullTitle.slice(0, fullTitle.length - title.length).trim();
  return describes === '' ? title : `${describes} › ${title}`;
}

const sourceOf = (file) =>
  file
    .slice(root.length + 1)
    .replace('/dist/', '/')
    .replace(/js$/, 'ts');

const withoutTags = (title) => title.replace(tag, '').replaceAll(slowTag, '').replace(/ +/g, ' ').trim();

/**
 * Returns one proof for each id in a tag of the family (`spec` or `compat`): the id, the file, and the test's title up
 * to the tag.
 */
export function proofsOf(tests, family) {
  return tests.flatMap(({ file, fullTitle }) =>
    [...fullTitle.matchAll(tag)]
      .filter(([, found]) => found === family)
      .flatMap((found) =>
        found[2].split(',').map((id) => ({ id: id.trim(), file, title: withoutTags(fullTitle.slice(0, found.index)) })),
      ),
  );
}

/** Returns a problem for each text in a title that looks like a misspelt tag. */
export function malformedTags(tests) {
  const problems = tests.flatMap(({ file, fullTitle }) =>
    (withoutTags(fullTitle).match(anyTag) ?? []).map(
      (text) => `${file}: ${text} must be [spec <id>, …], [compat <id>, …] or ${slowTag}`,
    ),
  );
  return [...new Set(problems)];
}

/** Escapes characters of Markdown, since titles contain operators and paths. */
export const escaped = (text) => text.replace(/[\\|<*_`[\]]/g, '\\$&');

/** Returns the text of a page of the repository; '' when the page does not exist. */
export function readCommitted(path) {
  try {
    return readFileSync(`${root}/${path}`, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}
