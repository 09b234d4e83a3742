// The conformance table: each rule of docs/spec-rules.yaml, and the tests whose titles say `[spec <id>]`.
// `npm run spec` writes docs/spec-conformance.md; `npm run spec:check` fails when a rule has no test, a tag names no rule,
// or the page is stale. Titles are those that mocha loads, so that generated ones count as well: it reads dist, build first.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { load } from 'js-yaml';

const root = resolve(import.meta.dirname, '..');
const rulesFile = 'docs/spec-rules.yaml';
const pageFile = 'docs/spec-conformance.md';

const tag = /\[spec ([^\]]+)\]/g;
const anyTag = /\[\s*spec\b[^\]]*\]?/gi;
const idForm = /^[1-9](\.[1-9])?-[a-z0-9.-]+$/;
const ruleFields = new Set(['id', 'rule', 'revision', 'decision', 'untested']);
const revisions = [undefined, '2.15', '2.9'];

/** Every test that would run, as mocha knows it; skipped ones prove nothing, and are left out. */
function loadedTests() {
  const folder = mkdtempSync(join(tmpdir(), 'spec-'));
  const output = join(folder, 'tests.json');
  const mocha = `${root}/node_modules/mocha/bin/mocha.js`;
  const options = ['--no-parallel', '--dry-run', '--reporter', 'json', '--reporter-option', `output=${output}`];
  try {
    const { status, stderr } = spawnSync(process.execPath, [mocha, ...options], { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`mocha could not load the tests:\n${stderr}`);
    return JSON.parse(readFileSync(output, 'utf8')).passes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const sourceOf = (file) =>
  file
    .slice(root.length + 1)
    .replace('/dist/', '/')
    .replace(/js$/, 'ts');
const withoutTags = (title) => title.replace(tag, '').replace(/ +/g, ' ').trim();

/** What each test says of each rule. The title of a proof ends where its tag stands: at a test, or at a describe. */
function proofsOf(tests) {
  return tests.flatMap(({ file, fullTitle }) =>
    [...fullTitle.matchAll(tag)].flatMap((found) =>
      found[1].split(',').map((id) => ({
        id: id.trim(),
        file: sourceOf(file),
        title: withoutTags(fullTitle.slice(0, found.index)),
      })),
    ),
  );
}

/** Proofs by rule; those of one describe are one, with the number of its tests. */
function byRule(proofs) {
  const rules = new Map();
  for (const { id, file, title } of proofs) {
    const ofRule = rules.get(id) ?? new Map();
    const key = `${file} ${title}`;
    const tests = (ofRule.get(key)?.tests ?? 0) + 1;
    rules.set(id, ofRule.set(key, { file, title, tests }));
  }
  const inOrder = ([a], [b]) => (a < b ? -1 : 1);
  return new Map([...rules].map(([id, ofRule]) => [id, [...ofRule].sort(inOrder).map(([, proof]) => proof)]));
}

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function decisionProblem(decision) {
  const [page, anchor] = decision.split('#');
  try {
    const headings = readFileSync(`${root}/docs/${page}`, 'utf8').match(/(?<=^#+ ).*$/gm) ?? [];
    return headings.map(anchorOf).includes(anchor) ? undefined : `docs/${page} has no heading #${anchor}`;
  } catch (error) {
    if (error.code === 'ENOENT') return `there is no docs/${page}`;
    throw error;
  }
}

/** What is wrong with a rule as it is written. */
function ruleProblems(part, rule, seen) {
  const problems = Object.keys(rule)
    .filter((field) => !ruleFields.has(field))
    .map((field) => `"${field}" is no field of a rule`);
  if (!idForm.test(rule.id) || !rule.id.startsWith(`${part}-`)) problems.push(`an id here is like ${part}-what`);
  if (seen.has(rule.id)) problems.push('is there twice');
  if (typeof rule.rule !== 'string') problems.push('needs a rule, one sentence');
  if (!revisions.includes(rule.revision)) problems.push("revision is '2.15' or '2.9'");
  if (rule.decision !== undefined) problems.push(decisionProblem(rule.decision));
  seen.add(rule.id);
  return problems.filter((problem) => problem !== undefined).map((problem) => `${rulesFile}: ${rule.id}: ${problem}`);
}

/** What is wrong between a rule and its tests. */
function proofProblem({ id, rule, untested }, proofs) {
  if (untested === undefined && proofs === undefined) {
    return `${id} has no test: ${rule}\n    (a title that ends with [spec ${id}] is one)`;
  }
  return untested !== undefined && proofs !== undefined ? `${id} is "untested", and has a test` : undefined;
}

function tagProblems(tests, proofs, known) {
  const malformed = tests.flatMap(({ file, fullTitle }) =>
    (withoutTags(fullTitle).match(anyTag) ?? []).map((text) => `${sourceOf(file)}: ${text} must be [spec <id>, …]`),
  );
  const unknown = proofs
    .filter(({ id }) => !known.has(id))
    .map(({ file, title, id }) => `${file}: "${title}" is tagged ${id}, which is no rule of ${rulesFile}`);
  return [...new Set([...malformed, ...unknown])];
}

// What Markdown would take for its own; titles hold operators and paths.
const escaped = (text) => text.replace(/[\\|<*_`[\]]/g, '\\$&');

/** The tests of a rule, under the file that each is in. */
function proofsCell(proofs) {
  return proofs
    .map(({ file, title, tests }, at) => {
      const link = file === proofs[at - 1]?.file ? '' : `[${escaped(file)}](../${file})<br>`;
      return `${link}– ${escaped(title)}${tests === 1 ? '' : ` (${tests} tests)`}`;
    })
    .join('<br>');
}

function testsCell(untested, proofs) {
  if (untested !== undefined) return `_none: ${untested}_`;
  return proofs.length === 0 ? '**none**' : proofsCell(proofs);
}

function ruleRow({ id, rule, revision = '', decision, untested }, proofs = []) {
  const decided = decision === undefined ? '' : ` ([decision](${decision}))`;
  return `| \`${id}\` | ${revision} | ${escaped(rule)}${decided} | ${testsCell(untested, proofs)} |`;
}

function pageOf(parts, proofs) {
  const sections = parts.flatMap(({ part, title, rules }) => [
    `\n## ${part}. ${title}\n`,
    '| Rule | Revision | What holds | Proved by |',
    '| --- | --- | --- | --- |',
    ...rules.map((rule) => ruleRow(rule, proofs.get(rule.id))),
  ]);
  const count = parts.flatMap(({ rules }) => rules).length;
  return `# Conformance to the specification

The ${count} rules of the specification of the custom model service, part by part, and the tests that prove them. Where a rule
holds for one revision of the interface only, its number is there; where the document is silent, "decision" leads to what holds.

Written by \`npm run spec\` from [the rules](spec-rules.yaml) and the tags of the tests; checked by \`npm run spec:check\`.
${sections.join('\n')}
`;
}

function readCommitted() {
  try {
    return readFileSync(`${root}/${pageFile}`, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}

/** Everything that is wrong with tags and rules; writes the page unless it is only to be checked. */
function compare(parts, known, check) {
  const tests = loadedTests();
  const proofs = proofsOf(tests);
  const grouped = byRule(proofs);
  const problems = parts.flatMap(({ rules }) => rules.map((rule) => proofProblem(rule, grouped.get(rule.id))));
  problems.push(...tagProblems(tests, proofs, known));
  const page = pageOf(parts, grouped);
  if (page !== readCommitted()) {
    if (check) problems.push(`${pageFile} is stale: npm run spec, and commit it`);
    else writeFileSync(`${root}/${pageFile}`, page);
  }
  return problems.filter((problem) => problem !== undefined);
}

const parts = load(readFileSync(`${root}/${rulesFile}`, 'utf8'));
const known = new Set();
const malformed = parts.flatMap(({ part, rules }) => rules.flatMap((rule) => ruleProblems(part, rule, known)));
const problems = malformed.length > 0 ? malformed : compare(parts, known, process.argv.includes('--check'));
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;
