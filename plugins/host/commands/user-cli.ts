import { Option } from 'commander';
import type { Command } from 'commander';
import { environmentName } from '../serve/serve-options.ts';
import type { UserVerb } from './user-command.ts';

type Flags = Readonly<Record<string, unknown>>;

/** Runs a verb of `homeostat user`. `name` is empty for a verb that needs no name. */
export type UserAction = (flags: Flags, verb: UserVerb, name: string) => Promise<void>;

interface UserCliParts {
  readonly run: UserAction;
  readonly flagsOf: (command: Command) => Flags;
}

const descriptions: readonly (readonly [verb: UserVerb, description: string])[] = [
  ['list', 'List the users of a server who log in with a password.'],
  ['add', 'Create a user, and set the password.'],
  ['password', 'Set the password of a user, and end the sessions that the user began with a password.'],
  ['disable', 'Disable a user, and end the sessions that the user began with a password.'],
  ['enable', 'Enable a disabled user again.'],
];

/** Adds the commands `homeostat user <verb>`. */
export function addUser(program: Command, { run, flagsOf }: UserCliParts): void {
  const user = program.command('user').description('Manage the people who log in to a server with a password.');
  for (const [verb, description] of descriptions) {
    const command = user
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
    if (verb !== 'list') command.argument('<name>', 'the name of the user');
    if (verb === 'add') {
      command
        .addOption(
          new Option('--group <group>', 'a group of the user; may be repeated').argParser<
            readonly string[] | undefined
          >((group, groups) => [...(groups ?? []), group]),
        )
        .option('--display-name <name>', 'the display name of the user');
    }
    if (verb === 'add' || verb === 'password') command.addHelpText('after', passwordHelp);
    command.action(async (...given: readonly unknown[]) =>
      run(flagsOf(command), verb, verb === 'list' ? '' : String(given[0])),
    );
  }
}

const passwordHelp = `
The command asks for the password at a terminal, or reads the first line of stdin. A password has 12 to 256 characters.`;
