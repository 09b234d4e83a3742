import { Command, CommanderError, Option } from 'commander';
import type { PartType } from 'create-homeostat';
import { addAuthorCommands } from './commands/author-cli.ts';
import type { CertificateCommandFlags, KubeconfigCommandFlags, NewCommandFlags } from './commands/command-flags.ts';
import { addBackup } from './commands/backup/backup-cli.ts';
import { addPlugin } from './commands/plugin-cli.ts';
import type { PluginAction } from './commands/plugin-cli.ts';
import { addUser } from './commands/user-cli.ts';
import type { UserAction } from './commands/user-cli.ts';
import { addCompletion } from './client/completion-cli.ts';
import { addObjectCommands } from './client/verbs/object-cli.ts';
import { hostVersion } from './text/host-version.ts';
import { refuseExcessArguments } from './commands/refuse-excess-arguments.ts';
import { environmentName, serveOptions } from './serve/serve-options.ts';
import type { ServeOption, ServeOptionName } from './serve/serve-options.ts';

/** The exit code for a mistake in the command line, as for the shell's own commands. */
const usageExitCode = 2;

export interface CliEnvironment {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
}

/**
 * Runs a command line (without `node` and the script) and returns the exit code of the command: usually 0 after an
 * orderly stop, 1 when the command failed or an exception was not caught, 2 for wrong arguments. Loads the server only
 * for a command that needs it.
 */
export async function runCli(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  let exitCode: number | undefined;
  try {
    await createCommandLine(environment, (code) => (exitCode = code)).parseAsync(argv, { from: 'user' });
    return exitCode ?? 0;
  } catch (error) {
    // commander has already printed the help, the version, or the problem.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : (exitCode ?? usageExitCode);
    throw error;
  }
}

/**
 * Returns the command line, which docs/reference describes. Each command calls `end` with its exit code.
 */
export function createCommandLine({ environment, exit }: CliEnvironment, end: (exitCode: number) => void): Command {
  const program = createProgram(actionsOf({ environment, exit }, end));
  for (const add of [addObjectCommands, addAuthorCommands, addBackup, addCompletion]) add(program, environment, end);
  return program;
}

/** Returns the functions that run commands. Each of them calls `end` with the exit code. */
function actionsOf({ environment, exit }: CliEnvironment, end: (code: number) => void): Actions {
  return {
    serve: async (flags) => {
      const { runServe } = await import('./serve/serve.ts');
      end(await runServe({ flags, environment, exit }));
    },
    dev: async (flags, folder) => {
      const { runDev } = await import('./dev/dev-command.ts');
      end(await runDev({ flags, environment, exit, folder }));
    },
    doctor: async (flags) => {
      const { runDoctor } = await import('./doctor/doctor-command.ts');
      end(await runDoctor({ flags, environment }));
    },
    new: async (part) => {
      const { runNew } = await import('./commands/new-command.ts');
      end(await runNew(part));
    },
    export: async (flags) => {
      const { runExport } = await import('./commands/export-command.ts');
      end(await runExport({ flags, environment }));
    },
    import: async (flags, file) => {
      const { runImport } = await import('./commands/import-command.ts');
      end(await runImport({ flags, environment, file }));
    },
    reencrypt: async (flags) => {
      const { runReencrypt } = await import('./commands/reencrypt-command.ts');
      end(await runReencrypt({ flags, environment }));
    },
    kubeconfig: async (flags, options) => {
      const { runKubeconfig } = await import('./commands/kubeconfig.ts');
      end(await runKubeconfig({ flags, environment, ...options }));
    },
    certificate: async (flags, options) => {
      const { runCertificate } = await import('./commands/certificate-command.ts');
      end(await runCertificate({ flags, environment, ...options }));
    },
    audit: async (flags) => {
      const { runAudit } = await import('./commands/audit-command.ts');
      end(await runAudit({ flags, environment }));
    },
    plugin: async (flags, verb, operand) => {
      const { runPlugin } = await import('./commands/plugin-command.ts');
      end(await runPlugin({ flags, environment, verb, ...(operand === undefined ? {} : { operand }) }));
    },
    user: async (flags, verb, name) => {
      const { runUser } = await import('./commands/user-command.ts');
      end(await runUser({ flags, environment, verb, name }));
    },
  };
}

type Flags = Readonly<Record<string, unknown>>;

interface Actions {
  readonly serve: (flags: Flags) => Promise<void>;
  readonly dev: (flags: Flags, folder: string) => Promise<void>;
  readonly new: (part: NewCommandFlags & { readonly type: PartType; readonly name: string }) => Promise<void>;
  readonly doctor: (flags: Flags) => Promise<void>;
  readonly export: (flags: Flags) => Promise<void>;
  readonly import: (flags: Flags, file: string) => Promise<void>;
  readonly reencrypt: (flags: Flags) => Promise<void>;
  readonly kubeconfig: (flags: Flags, options: KubeconfigCommandFlags) => Promise<void>;
  readonly certificate: (flags: Flags, options: CertificateCommandFlags) => Promise<void>;
  readonly audit: (flags: Flags) => Promise<void>;
  readonly plugin: PluginAction;
  readonly user: UserAction;
}

function createProgram(actions: Actions): Command {
  const program = new Command('homeostat')
    .description('A Kubernetes-style control plane: declare a model, get an API, write a reconciler.')
    .version(hostVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'Print the help of a command.')
    .exitOverride();
  refuseExcessArguments(program);
  addServe(program, actions);
  addDev(program, actions);
  addDoctor(program, actions);
  addNew(program, actions);
  addExport(program, actions);
  addImport(program, actions);
  addReencrypt(program, actions);
  addKubeconfig(program, actions);
  addCertificate(program, actions);
  addAudit(program, actions);
  addPlugin(program, { run: actions.plugin, flagsOf });
  addUser(program, { run: actions.user, flagsOf });
  return program;
}

function addServe(program: Command, { serve }: Actions): void {
  const command = program
    .command('serve')
    .description('Serve the API and run plugins until SIGTERM or SIGINT.')
    .addHelpText('after', serveHelp);
  addServeOptions(command);
  command.action(async () => serve(flagsOf(command)));
}

function addDev(program: Command, { dev }: Actions): void {
  const command = program
    .command('dev')
    .description('Serve the plugin of a folder, and reload it when one of its files changes.')
    .argument('[folder]', 'folder of the plugin', '.')
    .addHelpText('after', devHelp);
  addServeOptions(command);
  command.action(async (folder: string) => dev(flagsOf(command), folder));
}

function addDoctor(program: Command, { doctor }: Actions): void {
  const command = program
    .command('doctor')
    .description('Check the machine, the database and the server: what is wrong, and what to do about it.')
    .option('--server <url>', 'check only this running server')
    .addOption(new Option('-o, --output <format>', 'form of the findings').choices(['text', 'json']).default('text'))
    .addHelpText('after', doctorHelp);
  addServeOptions(command);
  command.action(async () => doctor(flagsOf(command)));
}

function addNew(program: Command, actions: Actions): void {
  const command = program.command('new').description('Add a part, with its test, to the plugin in this folder.');
  const add = (type: PartType, name: string, description: string): Command =>
    command
      .command(type)
      .description(description)
      .argument(name)
      .action(async (given: string, flags: NewCommandFlags) => actions.new({ ...flags, type, name: given }));
  add(
    'kind',
    '<Kind>',
    'Add a kind, with its test, to the plugin in this folder. The name of a kind is in PascalCase.',
  ).option('--plural <plural>', 'plural of the kind (default: the English plural of its name)');
  add('controller', '<name>', 'Add a controller, with its test, to the plugin in this folder.').option(
    '--kind <Kind>',
    'kind that the controller reconciles (default: the kind with the name of the controller)',
  );
  add(
    'endpoint',
    '<name>',
    'Add an endpoint, with its test, to the plugin in this folder. An endpoint is a path of your own, besides the paths of kinds.',
  );
}

function addExport(program: Command, actions: Actions): void {
  const command = program
    .command('export')
    .description('Write all objects, as they are at one moment, to a file that `homeostat import` reads.')
    .option('--server <url>', 'running server, such as http://127.0.0.1:8700')
    .option(
      '--token <secret>',
      'token for the server; give it in HOMEOSTAT_TOKEN, because other users of the machine can see flags (default: the token in the file that HOMEOSTAT_KUBECONFIG names, else in data/admin.kubeconfig, if the file is for this server)',
    )
    .option('--database <url>', 'database that no server has open; see --database of serve')
    .option('--output <file>', 'file to write, which only its owner can read (default: stdout)')
    .option('--force', 'overwrite the file')
    .option('--decrypt', 'write Secrets, and the secrets of the server, in plain text')
    .option(
      '--encryption-config <file>',
      'with --database and --decrypt: file with the keys; see --encryption-config of serve',
    )
    .addHelpText('after', exportHelp);
  command.action(async () => actions.export(flagsOf(command)));
}

function addImport(program: Command, actions: Actions): void {
  const command = program
    .command('import')
    .description(
      'Write all objects of an export into an empty database, and check that the database then has the same objects.',
    )
    .argument('<file>', 'the export; - for stdin')
    .option('--database <url>', 'empty database that no server has open; see --database of serve')
    .option(
      '--encryption-config <file>',
      'file with the keys by which the import encrypts objects that are plain text in the export; see --encryption-config of serve',
    )
    .addHelpText('after', importHelp);
  command.action(async (file: string) => actions.import(flagsOf(command), file));
}

function addReencrypt(program: Command, actions: Actions): void {
  const command = program
    .command('reencrypt')
    .description(
      'Encrypt the stored objects of a running server again, with the first key of its encryption configuration.',
    )
    .option(
      '--server <url>',
      'running server (default: the server in the file that HOMEOSTAT_KUBECONFIG names, else in data/admin.kubeconfig, else http://127.0.0.1:8700)',
    )
    .option(
      '--token <secret>',
      'token for the server; give it in HOMEOSTAT_TOKEN, because other users of the machine can see flags',
    )
    .addHelpText('after', reencryptHelp);
  command.action(async () => actions.reencrypt(flagsOf(command)));
}

function addAudit(program: Command, actions: Actions): void {
  const command = program
    .command('audit')
    .description('Search the audit log of a server, including its rotated files.')
    .option('--file <file>', 'the file that serve writes with --audit-log')
    .option('--user <name>', 'user who sent the request, or whom the request impersonated')
    .option('--verb <verb>', 'verb of the request: get, list, watch, create, update, patch, delete, …')
    .option('--resource <plural>', 'resource of the request: <plural>, <plural>.<group> or <plural>/<subresource>')
    .option('-n, --namespace <name>', 'namespace of the object')
    .option('--name <name>', 'name of the object')
    .option('--code <status>', 'status code of the response, such as 403')
    .option('--since <time>', 'only entries since this time (2026-01-31T12:00:00Z), or up to this age (30m, 24h, 7d)')
    .option('-o, --output <format>', 'table, or json: the entries as they are in the log (default: table)')
    .addHelpText('after', auditHelp);
  command.action(async () => actions.audit(flagsOf(command)));
}

/** The options of serve on which the address, the authority and the token in a kubeconfig depend. */
const accessOptions: readonly ServeOptionName[] = [
  'config',
  'database',
  'host',
  'port',
  'host-name',
  'auth',
  'token',
  'tls',
  'tls-cert',
  'tls-key',
  'tls-dir',
  'insecure',
];

function addKubeconfig(program: Command, actions: Actions): void {
  const command = program
    .command('kubeconfig')
    .description('Write a kubeconfig for the server that `serve` runs with the same options.')
    .option('--output <file>', 'file to write, readable by its owner only (default: stdout)')
    .option('--force', 'replace an existing file', false)
    .option('--name <context>', 'name of the context, the cluster and the user in the kubeconfig', 'homeostat')
    .option('--server <url>', "the server's URL, if the options do not determine it")
    .option(
      '--service-account <namespace/name>',
      'get a token of this account from the running server, and put it into the kubeconfig',
    )
    .option('--hours <number>', 'lifetime of the token of --service-account in hours, 1 to 24 (default: 1)')
    .addHelpText('after', kubeconfigHelp);
  addUserFlags(command, 'put a certificate of this user into the kubeconfig');
  for (const name of accessOptions) command.addOption(flagOf(name, serveOptions[name]));
  command.action(async (options: KubeconfigCommandFlags) => actions.kubeconfig(flagsOf(command), options));
}

function addUserFlags(command: Command, description: string): void {
  const list = { kind: 'list', value: '<name>', description: 'group of the user; may be repeated' } as const;
  command
    .option('--user <name>', description)
    .addOption(flagOf('group', list))
    .option('--days <number>', 'lifetime of the certificate in days, 1 to 365 (default: 7)');
}

function addCertificate(program: Command, actions: Actions): void {
  const command = program
    .command('certificate')
    .description(
      "Issue a certificate for a user, signed by the server's own authority, whose folder (--tls-dir) must be on this machine.",
    )
    .option('--cert-output <file>', 'file of the certificate (default: <user>.crt)')
    .option('--key-output <file>', "file of the certificate's private key (default: <user>.key)")
    .option('--force', 'replace existing files', false)
    .addHelpText('after', certificateHelp);
  addUserFlags(command, 'name of the user, the common name of the certificate');
  for (const name of ['config', 'database', 'tls', 'tls-dir'] as const)
    command.addOption(flagOf(name, serveOptions[name]));
  command.action(async (options: CertificateCommandFlags) => actions.certificate(flagsOf(command), options));
}

function addServeOptions(command: Command): void {
  for (const [name, option] of Object.entries<ServeOption>(serveOptions)) command.addOption(flagOf(name, option));
  // With this flag, commander sets the value of --console to false.
  command.addOption(new Option('--no-console').hideHelp());
}

/**
 * Returns the flag of an option. The values of a repeatable flag are collected; if another flag is repeated, its last
 * value counts.
 */
function flagOf(name: string, { value, kind, description }: ServeOption): Option {
  const option = new Option(value === undefined ? `--${name}` : `--${name} ${value}`, description);
  if (kind !== 'list') return option;
  return option.argParser<readonly string[] | undefined>((item, items) => [...(items ?? []), item]);
}

/** Returns the values by the options' own names; commander's names are in camel case. */
function flagsOf(command: Command): Flags {
  return Object.fromEntries(
    command.options.map((option): [string, unknown] => [
      option.long?.slice(2) ?? '',
      command.getOptionValue(option.attributeName()),
    ]),
  );
}

const serveHelp = `
Each option is also an environment variable (${environmentName('database')}, ${environmentName('log-level')}; lists are separated by
commas) and a key of the file that --config names. A flag overrides the environment, and the environment overrides the file.

Logs go to stdout. At a terminal they are lines for people, elsewhere JSON lines. The line {"msg":"ready","url":...} says that every
enabled plugin is Started or Failed.
SIGTERM or SIGINT: refuse new requests, let reconcilers end (30 s), exit 0. A second signal exits at once.`;

const doctorHelp = `
The other options are those of serve: doctor checks what serve would run with them, and repairs nothing.
Exit code 0: no errors, but maybe warnings; 1: an error; 2: options that cannot be used.`;

const devHelp = `
The options are those of serve. The plugin is compiled by the TypeScript compiler on which it depends. The previous version
continues to run when the plugin does not compile, when its module cannot be loaded, or when a declared object has a mistake. Stored
objects stay, and other plugins continue. Messages go to stderr; they also describe the effect of a changed schema on stored objects.`;

const exportHelp = `
Without --server and --database, ${environmentName('database')} names the database. The file appears only when it is complete.`;

const importHelp = `
Without --database, ${environmentName('database')} names the database. The import checks the whole file before it changes the
database. To finish an import that was interrupted, run the same command again; until then, no server can use the database.`;

const reencryptHelp = `
The command skips objects that are already encrypted with the first key, so you can repeat an interrupted command.
Exit code 1: the command failed or was stopped, or some objects could not be decrypted, and are unchanged.`;

const auditHelp = `
Without --file, ${environmentName('audit-log')} names the file. An entry must match all given conditions. The oldest entry is printed first.`;

const certificateHelp = `
The authority is in the folder that serve uses: --tls-dir, or tls beside the SQLite file. Only the owner of the written files
can read them. A certificate cannot be revoked before it expires, so choose a short lifetime. To lock out its user earlier,
remove the user's permissions.`;

const kubeconfigHelp = `
The command reads options of serve from its flags, the environment and the file of --config. The kubeconfig contains
the certificate of the server's certificate authority and a credential, if they exist. The command does not merge
the kubeconfig into other files: with KUBECONFIG=~/.kube/config:<file>, clients read both files.`;
