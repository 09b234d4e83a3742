import { Option } from 'commander';
import type { Command } from 'commander';
import type { ClientSources, ClientWork } from '../client-command.ts';

interface ObjectCommand {
  readonly name: string;
  /** The arguments, as the help shows them. */
  readonly usage?: string;
  readonly description: string;
  readonly options: readonly Option[];
  readonly help?: string;
  /** Loads the code of the command, so that the help need not load it. */
  readonly load: () => Promise<ClientWork>;
}

const targets = '[TYPE [NAME…] | TYPE/NAME…]';

const namespaceOptions = [new Option('-n, --namespace <name>', 'namespace of the objects (default: default)')];
const fileNamespaces = [
  new Option('-n, --namespace <name>', 'namespace of objects that have none in their file (default: default)'),
];
const allNamespaces = new Option('-A, --all-namespaces', 'objects of all namespaces');
const selectors = [
  new Option('-l, --selector <labels>', 'labels of the objects, such as app=web,tier!=db'),
  new Option('--field-selector <fields>', 'indexed fields of the objects, such as spec.city=Rome'),
];
const files = new Option(
  '-f, --filename <path>',
  'file, folder, glob pattern, or - for stdin; may be repeated',
).argParser<readonly string[] | undefined>((path, paths) => [...(paths ?? []), path]);
const dryRun = new Option(
  '--dry-run [mode]',
  'server (also when the mode is left out): the server checks the write, and does not store it; none: no dry run',
);
const manager = new Option('--field-manager <name>', 'manager of the written fields (default: homeostat)');
const output = new Option(
  '-o, --output <format>',
  'json, yaml, name, jsonpath=<template> or custom-columns=<NAME:path,…>',
);
const asGroup = new Option('--as-group <group>', 'group of the user of --as; may be repeated').argParser<
  readonly string[] | undefined
>((group, groups) => [...(groups ?? []), group]);
const timeout = (fallback: string): Option =>
  new Option('--timeout <time>', `time to wait, such as 30s or 5m (default: ${fallback})`);
const ignoreNotFound = new Option('--ignore-not-found', 'exit without an error when an object does not exist');

const readOptions = [
  ...namespaceOptions,
  allNamespaces,
  ...selectors,
  files,
  new Option(
    '-o, --output <format>',
    'table, wide, json, yaml, name, jsonpath=<template> or custom-columns=<NAME:path,…>',
  ),
  new Option('--sort <field,order>', 'order of a list by an indexed field, such as spec.age,desc'),
  new Option('--show-labels', 'add a column with the labels'),
  new Option('--show-managed-fields', 'show metadata.managedFields in JSON and YAML'),
  new Option('--no-headers', 'leave out the names of the columns'),
  ignoreNotFound,
];

const commands: readonly ObjectCommand[] = [
  {
    name: 'get',
    usage: targets,
    description: 'Print objects, as a table or as -o says.',
    options: [...readOptions, new Option('-w, --watch', 'print changes as well, until SIGINT')],
    load: async () => (await import('./get-command.ts')).getObjects,
  },
  {
    name: 'watch',
    usage: '<TYPE [NAME] | TYPE/NAME>',
    description: 'Print objects and then their changes, until SIGINT, as get -w does.',
    options: readOptions,
    load: async () => (await import('./get-command.ts')).watchObjects,
  },
  {
    name: 'describe',
    usage: targets,
    description: 'Print objects with their fields and events, for people to read.',
    options: [...namespaceOptions, allNamespaces, ...selectors, files],
    load: async () => (await import('./describe-command.ts')).describeObjects,
  },
  {
    name: 'create',
    description: 'Create objects from files.',
    options: [files, ...fileNamespaces, dryRun, manager, output],
    load: async () => (await import('./write-commands.ts')).createObjects,
  },
  {
    name: 'apply',
    description:
      'Create or change the objects of files. Without --force-conflicts, fields of other managers cannot be changed.',
    options: [
      files,
      ...fileNamespaces,
      new Option('--diff', 'show the changes first, and ask whether to apply them'),
      new Option('-y, --yes', 'apply without asking'),
      new Option('--force-conflicts', 'take over fields that other managers have set'),
      dryRun,
      manager,
      output,
    ],
    load: async () => (await import('./apply-command.ts')).applyObjects,
  },
  {
    name: 'edit',
    usage: '<TYPE NAME | TYPE/NAME>',
    description: 'Change an object in the editor that KUBE_EDITOR, VISUAL or EDITOR names, else in vi.',
    options: [...namespaceOptions, dryRun, manager, output],
    load: async () => (await import('./edit-command.ts')).editObject,
  },
  {
    name: 'patch',
    usage: '<TYPE NAME | TYPE/NAME>',
    description: 'Change fields of an object.',
    options: [
      new Option('-p, --patch <patch>', 'the patch, in JSON or YAML'),
      new Option('--patch-file <file>', 'file with the patch'),
      new Option('--type <type>', 'merge: RFC 7396; json: RFC 6902 (default: merge)'),
      new Option('--subresource <name>', 'subresource to patch, such as status'),
      ...namespaceOptions,
      dryRun,
      manager,
      output,
    ],
    load: async () => (await import('./write-commands.ts')).patchObject,
  },
  {
    name: 'delete',
    usage: targets,
    description: 'Delete objects, and wait until they are gone.',
    options: [
      ...namespaceOptions,
      allNamespaces,
      ...selectors,
      files,
      new Option('--all', 'all objects of the kind in the namespace'),
      new Option(
        '--cascade <how>',
        'what happens to owned objects: background, foreground or orphan (default: background)',
      ),
      new Option('--no-wait', 'do not wait for finalizers'),
      timeout('no limit'),
      ignoreNotFound,
      dryRun,
    ],
    load: async () => (await import('./delete-command.ts')).deleteObjects,
  },
  {
    name: 'wait',
    usage: targets,
    description: 'Wait until objects meet the condition of --for.',
    options: [
      new Option('--for <goal>', 'condition=TYPE[=STATUS], jsonpath={PATH}[=VALUE], create or delete'),
      timeout('30s'),
      ...namespaceOptions,
      allNamespaces,
      ...selectors,
      files,
    ],
    load: async () => (await import('./wait-command.ts')).waitForObjects,
  },
  {
    name: 'explain',
    usage: '<TYPE[.field…]>',
    description: 'Print the documentation of a kind, or of a field.',
    options: [new Option('--recursive', 'print all fields below the given field, without their descriptions')],
    load: async () => (await import('./explain-command.ts')).explainKind,
  },
  {
    name: 'api-resources',
    description: 'Print the kinds that the server serves.',
    options: [
      new Option('--api-group <group>', 'kinds of this group'),
      new Option('--namespaced [boolean]', 'true: kinds with namespaces; false: kinds without namespaces'),
      new Option('-o, --output <format>', 'wide, or name'),
    ],
    load: async () => (await import('./api-resources-command.ts')).listResources,
  },
  {
    name: 'events',
    description: 'Print events, the oldest first. The selectors apply to the events, not to the object of --for.',
    options: [
      new Option('--for <TYPE/NAME>', 'events about this object'),
      ...readOptions.filter((option) => option !== files && option !== ignoreNotFound),
      new Option('-w, --watch', 'print new events as well'),
    ],
    load: async () => (await import('./events-command.ts')).listEvents,
  },
  {
    name: 'why',
    usage: '<TYPE NAME | TYPE/NAME>',
    description: 'Explain the state of an object: what it waits for, what fails, what blocks it.',
    options: [...namespaceOptions, new Option('-o, --output <format>', 'text, or json (default: text)')],
    load: async () => (await import('./why-command.ts')).explainWhy,
  },
  {
    name: 'runs',
    usage: '<controller> [<name> | <namespace>/<name>]',
    description: 'Print the last runs of a controller, or of one of its objects, the oldest first.',
    options: [
      new Option('-f, --follow', 'print new runs as well, until SIGINT'),
      new Option('--result <result>', 'only runs with this result: success, error, conflict, terminal, timeout, …'),
      new Option('--limit <number>', 'number of runs, 1 to 1000 (default: 20)'),
      new Option(
        '-n, --namespace <name>',
        'print only the runs in this namespace, for users who may not read the runs of all namespaces',
      ),
      new Option('-o, --output <format>', 'table, or json: a line for each run (default: table)'),
    ],
    load: async () => (await import('./runs-command.ts')).listRuns,
  },
  {
    name: 'queue',
    usage: '[controller]',
    description: 'Print the queues of all controllers, or the keys in the queue of one controller.',
    options: [new Option('-o, --output <format>', 'table, or json: a line for each controller (default: table)')],
    load: async () => (await import('./queue-command.ts')).showQueues,
  },
  {
    name: 'top',
    description: 'Show controllers with their rates and failing keys: live at a terminal, otherwise once.',
    options: [],
    load: async () => (await import('./top-command.ts')).showTop,
  },
];

/**
 * Adds the commands for objects and controllers. Commands that kubectl also has have the names and options of kubectl.
 * `done` is called with the exit code of the command that ran.
 */
export function addObjectCommands(
  program: Command,
  environment: ClientSources['environment'],
  done: (exitCode: number) => void,
): void {
  for (const { name, usage, description, options, help, load } of commands) {
    const command = program.command(name).description(description).argument('[arguments...]');
    command.usage(`[options]${usage === undefined ? '' : ` ${usage}`}`);
    for (const option of options) command.addOption(option);
    command
      .option(
        '--server <url>',
        'running server (default: the server in the file that HOMEOSTAT_KUBECONFIG names, else in data/admin.kubeconfig, else http://127.0.0.1:8700)',
      )
      .option(
        '--token <secret>',
        'token for the server; give it in HOMEOSTAT_TOKEN, because other users of the machine can see flags',
      )
      .option('--as <user>', 'run as this user, if you have the permission to impersonate the user')
      .addOption(asGroup);
    if (help !== undefined) command.addHelpText('after', help);
    command.action(async (args: readonly string[]) => {
      const { runClientCommand } = await import('../client-command.ts');
      done(await runClientCommand({ args, flags: flagsOf(command), environment }, await load()));
    });
  }
}

/** Returns the values of the options, by their long names without `--` and `no-`. */
function flagsOf(command: Command): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    command.options.map((option): [string, unknown] => [
      option.long?.replace(/^--(no-)?/, '') ?? '',
      command.getOptionValue(option.attributeName()),
    ]),
  );
}
