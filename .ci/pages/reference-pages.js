// Makes the pages of docs/reference from the source: commands and options from the command line, errors from the
// comments above each reason and cause in status.ts, metrics from a running server, and keys of the manifest from its
// JSON Schema.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { controller, createClient, createManager } from '../../controller-runtime/dist/bundle/index.js';
import { defineModel } from '../../controller-runtime/dist/bundle/api.js';
import { Metrics } from '../../controller-runtime/dist/bundle/telemetry.js';
import { createCommandLine } from '../../plugins/host/dist/bundle/cli.js';
import { environmentName, serveOptions } from '../../plugins/host/dist/serve/serve-options.js';
import { startTestServer } from '../../plugins/host/dist/bundle/testing.js';
import { root } from './test-titles.js';

const folder = 'docs/reference';

/** Returns the pages, each with its text, and the problems of their sources. */
export async function referencePages() {
  const errors = errorPage();
  const metrics = await metricsPage();
  const pages = [
    [`${folder}/commands.md`, commandsPage()],
    [`${folder}/errors.md`, errors.text],
    [`${folder}/metrics.md`, metrics.text],
    [`${folder}/manifest.md`, manifestPage()],
  ];
  return { pages, problems: [...errors.problems, ...metrics.problems, ...unlistedOptions()] };
}

const read = (path) => readFileSync(`${root}/${path}`, 'utf8');

function pageOf(title, ...blocks) {
  return `${[`# ${title}`, '<!-- Written by npm run spec, from the source. -->', ...blocks].join('\n\n')}\n`;
}

function tableOf(heads, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

const code = (text) => `\`${text.replaceAll('|', '\\|')}\``;

/** Converts a text of the source to Markdown on one line: it escapes Markdown's characters, but keeps code spans. */
function prose(text) {
  const parts = text
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(`[^`]*`)/);
  return parts.map((part, index) => (index % 2 === 1 ? part : part.replace(/[\\|<*_[\]{}]/g, '\\$&'))).join('');
}

// These functions make the page of commands and options.

function commandsPage() {
  const ignore = () => undefined;
  const program = createCommandLine({ environment: {}, exit: ignore }, ignore);
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((command) => command.name() !== 'help');
  const names = new Set(Object.keys(serveOptions).map((name) => `--${name}`));
  return pageOf(
    'Commands and options',
    'The arguments and options that `homeostat <command> --help` prints, on one page. For some commands, `--help` also prints notes, such as exit codes. [Serve](../operating/serve.md) and [Commands for objects](../operating/commands.md) explain the commands.',
    '## Options of the server',
    'The options of `homeostat serve`. Each is a flag, an environment variable, and a key of the YAML file that `--config` names. A flag overrides the environment, and the environment overrides the file. In the environment, commas separate the items of a list. A switch is `true` or `false` in the environment and in the file.',
    serverOptions(),
    ...commands.flatMap((command) => commandSections({ help, names, path: 'homeostat', command })),
  );
}

function serverOptions() {
  const rows = Object.entries(serveOptions).map(([name, { value, kind, description }]) => [
    `${code(value === undefined ? `--${name}` : `--${name} ${value}`)}${name === 'config' ? ' (not a key)' : ''}`,
    code(environmentName(name)),
    kind,
    prose(description),
  ]);
  return tableOf(
    ['Flag (its name without `--` is the key in the YAML file)', 'Environment variable', 'Type', 'Meaning'],
    rows,
  );
}

function commandSections({ help, names, path, command }) {
  const name = `${path} ${command.name()}`;
  const below = help.visibleCommands(command).filter((each) => each.name() !== 'help');
  const own = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  const isServer = [...names].every((each) => own.some(({ long }) => long === each));
  const options = isServer ? own.filter(({ long }) => !names.has(long)) : own;
  const described = help.visibleArguments(command).filter(({ description }) => description !== '');
  const rows = [
    ...described.map((argument) => [code(help.argumentTerm(argument)), prose(help.argumentDescription(argument))]),
    ...options.map((option) => [code(help.optionTerm(option)), prose(help.optionDescription(option))]),
  ];
  return [
    ...(below.length > 0
      ? []
      : [`## ${name}`, prose(command.description()), `Usage: ${code(help.commandUsage(command))}`]),
    ...(isServer
      ? [`The command takes the [options of the server](#options-of-the-server)${rows.length > 0 ? ', and:' : '.'}`]
      : []),
    ...(rows.length > 0 && below.length === 0 ? [tableOf(['Argument or option', 'Meaning'], rows)] : []),
    ...below.flatMap((each) => commandSections({ help, names, path: name, command: each })),
  ];
}

/** Returns the options of `serve` that docs/operating/serve.md does not mention. */
function unlistedOptions() {
  const text = read('docs/operating/serve.md');
  return Object.keys(serveOptions)
    .filter((name) => !text.includes(`\`--${name}\``))
    .map((name) => `docs/operating/serve.md does not mention --${name}`);
}

// These functions make the page of errors.

const statusFile = 'controller-runtime/api/errors/status.ts';

/** Matches the name of a reason or a cause, and the comment right before the name. The comment has meaning and cure. */
const documented = /\/\*\*((?:(?!\*\/)[^])*?)\*\/\s+(?:(\w+): (\d+),|\| '(\w+)')/g;

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

function errorPage() {
  const rows = [...read(statusFile).matchAll(documented)].map(([, comment, reason, status, cause]) => {
    const [meaning = '', cure = ''] = comment.replace(/\n\s*\*/g, ' ').split('Cure:');
    return { name: reason ?? cause, status, meaning: prose(meaning), cure: capital(prose(cure)) };
  });
  const declared = [...read(statusFile).matchAll(/^ {2}(?:(\w+): \d+,|\| '(\w+)')/gm)].map(([, a, b]) => a ?? b);
  const isWhole = (name) => rows.some((row) => row.name === name && row.meaning !== '' && row.cure !== '');
  const problems = declared
    .filter((name) => !isWhole(name))
    .map((name) => `${statusFile}: ${name} needs a comment with a cause, and a cure after "Cure:"`);
  const cells = ({ name, status, meaning, cure }) => [
    code(name),
    ...(status === undefined ? [] : [status]),
    meaning,
    cure,
  ];
  const text = pageOf(
    'Errors',
    'The response to a request that failed is a [Status](../objects-and-http.md#errors). Programs decide by its `reason`; its `message` is for people. [Troubleshooting](../troubleshooting.md) has the messages of the server and of plugins.',
    '## Reasons',
    tableOf(['`reason`', '`code`', 'Cause', 'Cure'], rows.filter(({ status }) => status !== undefined).map(cells)),
    '## Causes',
    '`details.causes` of a Status has an entry for each wrong field, and for some errors that concern no field. An entry has its own `reason`, a `message`, and the `field`, if there is one.',
    tableOf(['`reason` of a cause', 'Cause', 'Cure'], rows.filter(({ status }) => status === undefined).map(cells)),
  );
  return { text, problems };
}

// These functions make the page of metrics.

async function metricsPage() {
  const defined = await definedMetrics();
  const rows = [...defined.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const problems = namesInSource()
    .filter((name) => !defined.has(name))
    .map(
      (name) =>
        `docs/reference/metrics.md lacks ${name}: .ci/pages/reference-pages.js does not start the part that counts it`,
    );
  const text = pageOf(
    'Metrics',
    'The metrics that a server returns at `GET /metrics`, and that a manager in another process returns from `metrics()`. [Observe](../operating/observe.md#metrics) explains the labels. A counter only rises; a gauge rises and falls; a histogram has the series `_bucket`, `_sum` and `_count`. Times are in seconds. On a server, the metrics of controllers of plugins have the label `plugin` in addition to the labels in the table.',
    tableOf(
      ['Metric', 'Type', 'Labels', 'Meaning'],
      rows.map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), prose(help)]),
    ),
  );
  return { text, problems };
}

/** Runs a server and a controller, which define all metrics, and returns the metrics by name. */
async function definedMetrics() {
  const defined = new Map();
  const originals = ['counter', 'gauge', 'histogram', 'sample'].map((method) => [method, Metrics.prototype[method]]);
  for (const [method, original] of originals)
    Metrics.prototype[method] = function record(options, ...rest) {
      const { name, help, labels = [], type = method } = options;
      defined.set(name, { name, help, labels, type });
      return original.call(this, options, ...rest);
    };
  const temporary = mkdtempSync(join(tmpdir(), 'reference-'));
  try {
    await runController(join(temporary, 'audit.log'));
    return defined;
  } finally {
    for (const [method, original] of originals) Metrics.prototype[method] = original;
    rmSync(temporary, { recursive: true });
  }
}

/** Runs a server with an audit log, and a manager that becomes the leader and runs two controllers, one with shards. */
async function runController(logFile) {
  const schema = { type: 'object', properties: {} };
  const Thing = defineModel({ gvk: 'things.example.com/v1/Thing', plural: 'things', schema });
  const server = await startTestServer({ models: [Thing], audit: { logFile } });
  const stop = new AbortController();
  const metrics = new Metrics();
  const client = createClient(server.url, { metrics });
  const sharded = controller(Thing, { name: 'sharded', shards: 1, reconcile() {} });
  const controllers = [controller(Thing, { reconcile: async () => stop.abort() }), sharded];
  const manager = createManager({ client, controllers, metrics, leaderElection: { name: 'things' } });
  const running = manager.run(stop.signal);
  await client.create(Thing, { metadata: { name: 'one' } });
  await running;
  await server.stop();
}

/** Returns the metric names that are literals in the source. Names that code composes are not found. */
function namesInSource() {
  const files = ['apiserver', 'controller-runtime', 'plugins/host'].flatMap((home) =>
    readdirSync(`${root}/${home}`, { recursive: true, encoding: 'utf8' }).map((path) => `${home}/${path}`),
  );
  const sources = files.filter((path) => path.endsWith('.ts') && !/\/(?:dist|node_modules)\/|\.test\.ts$/.test(path));
  const name = /name: '((?:apiserver|homeostat|rest_client|leader_election)_\w+)'/g;
  return sources.flatMap((path) => [...read(path).matchAll(name)].map(([, found]) => found));
}

// These functions make the page of the manifest.

function manifestPage() {
  const schema = JSON.parse(read('plugins/host/schemas/plugin.schema.json'));
  return pageOf(
    'The manifest',
    'The keys of `plugin.yaml`, from the JSON Schema that editors use: `node_modules/homeostat/schemas/plugin.schema.json`. [Writing a plugin](../plugins.md#the-manifest) explains them.',
    keysOf(schema),
    '## A role',
    'An item of `roles`.',
    keysOf(schema.properties.roles.items),
    '## A rule about objects',
    'An item of `permissions`, or of the `rules` of a role.',
    keysOf(schema.definitions.objectRule),
    '## A rule about paths',
    'An item of the `rules` of a role.',
    keysOf(schema.definitions.pathRule),
  );
}

function keysOf({ properties, required = [] }) {
  const rows = Object.entries(properties).map(([key, property]) => [
    code(key),
    typeOf(property),
    required.includes(key) ? 'yes' : 'no',
    prose(property.description ?? ''),
  ]);
  return tableOf(['Key', 'Type', 'Required', 'Meaning'], rows);
}

function typeOf({ type, enum: values, $ref, items }) {
  if (values !== undefined) return values.map((value) => code(JSON.stringify(value))).join(' or ');
  if ($ref !== undefined) return 'list of texts';
  if (items?.enum !== undefined) return `list of ${typeOf(items)}`;
  return { string: 'text', array: 'list', object: 'mapping' }[type];
}
