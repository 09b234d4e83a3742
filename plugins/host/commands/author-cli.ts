import { Option } from 'commander';
import type { Command } from 'commander';

type Environment = Readonly<Record<string, string | undefined>>;

/** Adds the commands for authors of plugins: `check` and `plan`. `done` is called with the exit code. */
export function addAuthorCommands(program: Command, environment: Environment, done: (exitCode: number) => void): void {
  addCheck(program, done);
  addPlan(program, environment, done);
}

function addCheck(program: Command, done: (exitCode: number) => void): void {
  const command = program
    .command('check')
    .description('Check a compiled plugin without a server: manifest, module, models and declared objects.')
    .argument('[folder]', 'folder of the plugin', '.')
    .addOption(
      folders('--with <folder>', 'folder of another plugin, whose kinds the declared objects use; may be repeated'),
    )
    .addHelpText('after', checkHelp);
  command.action(async (folder: string) => {
    const { runCheck } = await import('./check-command.ts');
    const { with: others = [] } = command.opts<{ with?: readonly string[] }>();
    done(await runCheck({ folder, others }));
  });
}

function folders(flags: string, description: string): Option {
  const option = new Option(flags, description);
  return option.argParser<readonly string[] | undefined>((folder, given) => [...(given ?? []), folder]);
}

function addPlan(program: Command, environment: Environment, done: (exitCode: number) => void): void {
  const command = program
    .command('plan')
    .description('Run plugins on a copy of the objects of a server or of an export, and show what they would change.')
    .addOption(folders('--plugin <folder>', 'compiled folder of a plugin; may be repeated'))
    .option(
      '--from <source>',
      'file of an export, or URL of a running server (default: the server in the file that HOMEOSTAT_KUBECONFIG names, else in data/admin.kubeconfig, else http://127.0.0.1:8700)',
    )
    .option(
      '--token <secret>',
      'token for the server; give it in HOMEOSTAT_TOKEN, because other users of the machine can see flags',
    )
    .option(
      '--encryption-config <file>',
      'file with the keys of encrypted objects; see --encryption-config of serve (default: leave out encrypted objects)',
    )
    .option('-o, --output <format>', 'text, or json (default: text)')
    .addHelpText('after', planHelp)
    // Other commands exit with 2 after a mistake in the command line, but for this command, 2 means that there are
    // changes.
    .exitOverride((error) => {
      if (error.exitCode !== 0) done(1);
      throw error;
    });
  command.action(async () => {
    const { runPlan } = await import('./plan-command.ts');
    const { encryptionConfig, ...flags } = command.opts<Record<string, unknown>>();
    done(await runPlan({ flags: { ...flags, 'encryption-config': encryptionConfig }, environment }));
  });
}

const planHelp = `
The plugins run for ten minutes of simulated time, which takes seconds. Nothing is written to the server, and connections are
refused: a call to another service is listed, and the run that makes the call fails. Exit code 0: nothing would change;
2: something would change, a run failed, or the plugins never became idle; 1: there is no plan, or an option cannot
be used.`;

const checkHelp = `
Each mistake is printed on a line, with its file and line if they are known. Exit code 0: no mistake; 1: a mistake.`;
