// Makes the conformance table: each rule of docs/spec-rules.yaml, and the tests whose titles say `[spec <id>]`. Reports
// a problem when a rule has no test, unless the rule is marked as untested; when a rule with this mark has a test; and
// when a tag names no rule.
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { escaped, proofsOf, root } from './test-titles.js';

const rulesFile = 'docs/spec-rules.yaml';

export const page = 'docs/spec-conformance.md';

const idForm = /^([1-9](\.[1-9])?|operators|experience)-[a-z0-9.-]+$/;
const ruleFields = new Set(['id', 'rule', 'revision', 'decision', 'untested']);
const revisions = [undefined, '2.15', '2.9'];

/**
 * Returns the proofs of each rule. If the title of a describe has a tag, all tests of the describe are one proof, which
 * has the number of these tests.
 */
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

/** Returns the anchor that GitHub makes for a heading. */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function decisionProblem(decision) {
  const [file, anchor] = decision.split('#');
  try {
    const headings = readFileSync(`${root}/docs/${file}`, 'utf8').match(/(?<=^#+ ).*$/gm) ?? [];
    return headings.map(anchorOf).includes(anchor) ? undefined : `docs/${file} has no heading #${anchor}`;
  } catch (error) {
    if (error.code === 'ENOENT') return `docs/${file} does not exist`;
    throw error;
  }
}

/** Returns the problems of one rule in docs/spec-rules.yaml. */
function ruleProblems(part, rule, seen) {
  const problems = Object.keys(rule)
    .filter((field) => !ruleFields.has(field))
    .map((field) => `"${field}" is not a field of a rule`);
  if (!idForm.test(rule.id) || !rule.id.startsWith(`${part}-`)) problems.push(`the id must be ${part}-<what>`);
  if (seen.has(rule.id)) problems.push('is there twice');
  if (typeof rule.rule !== 'string') problems.push('needs "rule": one sentence');
  if (!revisions.includes(rule.revision)) problems.push("revision must be '2.15' or '2.9'");
  if (rule.decision !== undefined) problems.push(decisionProblem(rule.decision));
  seen.add(rule.id);
  return problems.filter((problem) => problem !== undefined).map((problem) => `${rulesFile}: ${rule.id}: ${problem}`);
}

/** Returns the problem of a rule that has neither a test nor the mark `untested`, or has both; otherwise undefined. */
function proofProblem({ id, rule, untested }, proofs) {
  if (untested === undefined && proofs === undefined) {
    return `${id} has no test: ${rule}\n    (add [spec ${id}] to the end of a test's title)`;
  }
  return untested !== undefined && proofs !== undefined ? `${id} is "untested", but has a test` : undefined;
}

function unknownTags(proofs, known) {
  const problems = proofs
    .filter(({ id }) => !known.has(id))
    .map(({ file, title, id }) => `${file}: "${title}" is tagged ${id}, which is not a rule of ${rulesFile}`);
  return [...new Set(problems)];
}

/** Returns the table cell with the tests of a rule, grouped by file. */
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
    `\n## ${/^\d/.test(part) ? `${part}. ` : ''}${title}\n`,
    '| Rule | Revision | Text | Proved by |',
    '| --- | --- | --- | --- |',
    ...rules.map((rule) => ruleRow(rule, proofs.get(rule.id))),
  ]);
  const count = parts.flatMap(({ rules }) => rules).length;
  return `# Conformance to the specification

The ${count} rules, and the tests that prove each of them. The first parts have the rules of the specification of the custom
model service. The other parts have the rules that [operators](operators.md) of Kubernetes need, and those of the command line, the
packages and the book. If a rule applies to only one revision of the interface, the table has the number of this revision. If the
specification does not decide a question, "decision" links to the answer.

Written by \`npm run spec\` from [the rules](spec-rules.yaml) and the tags of the tests; checked by \`npm run spec:check\`.
${sections.join('\n')}
`;
}

/** Returns the page with the rules and their tests, and all problems in the list of rules and in the tags of tests. */
export function conformance(tests) {
  const parts = load(readFileSync(`${root}/${rulesFile}`, 'utf8'));
  const known = new Set();
  const malformed = parts.flatMap(({ part, rules }) => rules.flatMap((rule) => ruleProblems(part, rule, known)));
  if (malformed.length > 0) return { problems: malformed };
  const proofs = proofsOf(tests, 'spec');
  const grouped = byRule(proofs);
  const unproved = parts.flatMap(({ rules }) => rules.map((rule) => proofProblem(rule, grouped.get(rule.id))));
  const problems = [...unproved.filter((problem) => problem !== undefined), ...unknownTags(proofs, known)];
  return { text: pageOf(parts, grouped), problems };
}
