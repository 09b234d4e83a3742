import type { Command } from 'commander';
import type { PluginVerb } from './plugin-command.ts';
import { environmentName } from '../serve/serve-options.ts';

type Flags = Readonly<Record<string, unknown>>;

export type PluginAction = (flags: Flags, verb: PluginVerb, operand?: string) => Promise<void>;

interface PluginCliParts {
  readonly run: PluginAction;
  readonly flagsOf: (command: Command) => Flags;
}

interface VerbHelp {
  readonly verb: PluginVerb;
  readonly operand?: readonly [name: string, description: string];
  readonly description: string;
}

const name = ['name', "the plugin's name"] as const;

const verbs: readonly VerbHelp[] = [
  { verb: 'list', description: 'List the plugins of a server, each with its phase and the reason for it.' },
  { verb: 'enable', operand: name, description: 'Start a plugin, and wait until it is Started.' },
  {
    verb: 'disable',
    operand: name,
    description: 'Stop a plugin and the plugins that depend on it, and wait until the plugin is Stopped.',
  },
  { verb: 'reload', operand: name, description: 'Stop a plugin, and start it from its current files.' },
  {
    verb: 'install',
    operand: ['source', 'folder, .tgz file, or package of the registry that npm uses'],
    description:
      'Install a plugin in the server, replacing a plugin of the same name, and start it unless it is disabled.',
  },
  {
    verb: 'uninstall',
    operand: name,
    description: 'Stop a plugin, and remove it from the server.',
  },
];

/** Adds the commands `homeostat plugin <verb>`. */
export function addPlugin(program: Command, { run, flagsOf }: PluginCliParts): void {
  const plugin = program.command('plugin').description('Manage the plugins of a running server.');
  for (const { verb, operand, description } of verbs) {
    const command = plugin
      .command(verb)
      .description(description)
      .option(
        '--server <url>',
        'running server (default: the server in the file that HOMEOSTAT_KUBECONFIG names, else in data/admin.kubeconfig, else http://127.0.0.1:8700)',
      )
      .option(
        '--token <secret>',
        `token for the server; give it in ${environmentName('token')}, because other users of the machine can see flags (default: the token of the kubeconfig, unless --server names another server)`,
      )
      .option(
        '--service-domain <domain>',
        'the same as --service-domain of the server (default: HOMEOSTAT_SERVICE_DOMAIN, else homeostat.internal)',
      );
    if (operand !== undefined) command.argument(`<${operand[0]}>`, operand[1]);
    if (verb === 'install' || verb === 'uninstall')
      command.option(
        '--plugins-dir <folder>',
        "the server's folder of plugins, if the server is on this machine (default: HOMEOSTAT_PLUGINS_DIR, else send the request to the server)",
      );
    if (verb === 'install')
      command.option('--run-scripts', "allow the plugin's dependencies to run their install scripts");
    if (verb === 'uninstall')
      command.option('--purge', 'first delete the declared objects that the plugin has created');
    command.action(async (...given: readonly unknown[]) =>
      run(flagsOf(command), verb, operand === undefined ? undefined : String(given[0])),
    );
  }
}
