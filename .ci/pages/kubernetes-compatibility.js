// Makes the two tables of docs/kubernetes-compatibility.md: each feature of docs/kubernetes-features.yaml, with the
// tests whose titles say `[compat <id>]`; and the recorded cases in which this server's response differs from the
// recorded response. Tests in test/kubectl run kubectl, tests in test/client-node use the library
// @kubernetes/client-node, and all others send HTTP requests. Reports a problem when a feature has no test, when the
// clients of its tests are not the clients that the feature names, when a tag names no feature, and when a test of
// kubectl or client-node has no tag.
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { escaped, proofsOf, readCommitted, root } from './test-titles.js';

const featuresFile = 'docs/kubernetes-features.yaml';

export const page = 'docs/kubernetes-compatibility.md';

// The beginning and the end of a table include Prettier's marks, so that Prettier does not reformat the table.
const begin = '<!-- prettier-ignore-start -->';
const end = '<!-- prettier-ignore-end -->';

const place = new RegExp(`${begin}[^]*?${end}`);
/** The notes above the two tables, in the order of the tables. */
const notes = [
  '<!-- Written by npm run spec, from kubernetes-features.yaml and the titles of the tests. -->',
  '<!-- Written by npm run spec, from the titles of the tests. -->',
];

const fields = new Set(['id', 'feature', 'kubectl', 'client-node', 'since', 'exceptions']);
const clients = ['kubectl', 'client-node'];

const clientOf = (file) => clients.find((client) => file.startsWith(`test/${client}/`)) ?? 'HTTP';

/** Returns the problems of one feature in docs/kubernetes-features.yaml. */
function featureProblems(feature, seen) {
  const problems = Object.keys(feature)
    .filter((field) => !fields.has(field))
    .map((field) => `"${field}" is not a field of a feature`);
  if (!/^[a-z0-9-]+$/.test(feature.id)) problems.push('the id must be like server-side-apply');
  if (seen.has(feature.id)) problems.push('is there twice');
  if (typeof feature.feature !== 'string') problems.push('needs "feature": its name');
  if (!/^\d+\.\d+\.\d+$/.test(feature.since)) problems.push('needs "since": the first version with the feature');
  seen.add(feature.id);
  return problems.map((problem) => `${featuresFile}: ${feature.id}: ${problem}`);
}

/** Returns the files with tests of each feature, by the feature's id. */
function byFeature(proofs) {
  const features = new Map();
  for (const { id, file } of proofs) features.set(id, (features.get(id) ?? new Set()).add(file));
  return features;
}

function proofProblems(feature, files = new Set()) {
  const proved = new Set([...files].map(clientOf));
  const wrong = clients.filter((client) => (feature[client] !== undefined) !== proved.has(client));
  const problems = wrong.map((client) =>
    feature[client] === undefined
      ? `${feature.id} has tests with ${client}: add the field ${client} with what the tests show`
      : `${feature.id} has no test with ${client}: add [compat ${feature.id}] to the end of a test's title`,
  );
  return files.size === 0 ? [`${feature.id} has no test`] : problems;
}

/**
 * Returns a problem for each test of kubectl or client-node without a tag, because no row of the table would show it.
 */
function untagged(tests) {
  const silent = tests.filter(
    ({ file, fullTitle }) => clientOf(file) !== 'HTTP' && !/\[compat [^\]]+\]/.test(fullTitle),
  );
  return silent.map(({ file, fullTitle }) => `${file}: "${fullTitle}" has no tag: [compat <id of ${featuresFile}>]`);
}

function unknownTags(proofs, known) {
  const problems = proofs
    .filter(({ id }) => !known.has(id))
    .map(({ file, title, id }) => `${file}: "${title}" is tagged ${id}, which is not a feature of ${featuresFile}`);
  return [...new Set(problems)];
}

/** Returns links to the files whose tests use this client: `kubectl`, `client-node`, or `HTTP` for all other files. */
function links(client, files = new Set()) {
  return [...files]
    .filter((file) => clientOf(file) === client)
    .sort((a, b) => (a < b ? -1 : 1))
    .map((file) => `[${/([^/]+)\.test\.ts$/.exec(file)[1]}](../${file})`)
    .join(', ');
}

const cell = (text, proofs) => [text, proofs === '' ? '' : `(${proofs})`].filter((part) => part !== '').join(' ');

function row(feature, files) {
  const claims = clients.map((client) => cell(feature[client] ?? '', links(client, files)));
  const cells = [cell(feature.feature, links('HTTP', files)), ...claims, feature.since, feature.exceptions ?? ''];
  return `| ${cells.join(' | ')} |`;
}

function tableOf(features, files) {
  return [
    '| Feature (tests over HTTP) | kubectl 1.32 (tests) | client-node 1.4 (tests) | Since | Exceptions |',
    '| --- | --- | --- | --- | --- |',
    ...features.map((feature) => row(feature, files.get(feature.id))),
  ].join('\n');
}

/**
 * Returns the table of the recorded cases in which this server's response differs from the recorded response. A row has
 * all cases with the same response and reason.
 */
function differencesOf(tests) {
  const reasons = new Map();
  for (const { fullTitle } of tests) {
    const [, recorded, why] = /\[compat recorded\] › (.*), not (?:as recorded|\d+): (.*)$/.exec(fullTitle) ?? [];
    if (why !== undefined) reasons.set(why, (reasons.get(why) ?? new Set()).add(escaped(recorded)));
  }
  const rows = [...reasons].map(([why, cases]) => `| ${escaped(why)} | ${[...cases].join('<br>')} |`);
  return [
    '| What differs from the recording, or why | Recorded cases (number: request) |',
    '| --- | --- |',
    ...rows,
  ].join('\n');
}

/** Returns the page with new tables, and all problems in the list of features, in the tags of tests and in the page. */
export function compatibility(tests) {
  const features = load(readFileSync(`${root}/${featuresFile}`, 'utf8'));
  const known = new Set();
  const malformed = features.flatMap((feature) => featureProblems(feature, known));
  if (malformed.length > 0) return { problems: malformed };
  const proofs = proofsOf(tests, 'compat');
  const files = byFeature(proofs);
  const problems = [
    ...features.flatMap((feature) => proofProblems(feature, files.get(feature.id))),
    ...unknownTags(proofs, known),
    ...untagged(tests),
  ];
  const committed = readCommitted(page);
  const parts = committed.split(place);
  if (parts.length !== 3)
    return { problems: [...problems, `${page} must have exactly two places for tables: ${begin} … ${end}`] };
  const tables = [tableOf(features, files), differencesOf(tests)];
  const marked = tables.map((table, at) => `${begin}\n${notes[at]}\n\n${table}\n\n${end}`);
  const text = parts.map((part, at) => part + (marked[at] ?? '')).join('');
  return { text, problems };
}
