import type { Command } from 'commander';

type Environment = Readonly<Record<string, string | undefined>>;

/** Adds `backup`. `done` is called with the exit code. */
export function addBackup(program: Command, environment: Environment, done: (exitCode: number) => void): void {
  const command = program
    .command('backup')
    .description('Copy the SQLite database of a running server into a file, once or at an interval.')
    .option('--to <file>', 'file to write, which only its owner can read')
    .option('--every <time>', 'take a backup now, and then at this interval, such as 30m, 1h or 1d')
    .option(
      '--keep <number>',
      'number of backups to keep; each has the time in its name, and older ones are removed (default with --every: 24)',
    )
    .option('--force', 'overwrite the file')
    .option(
      '--server <url>',
      'running server (default: the server in the file that HOMEOSTAT_KUBECONFIG names, else in data/admin.kubeconfig, else http://127.0.0.1:8700)',
    )
    .option(
      '--token <secret>',
      'token for the server; give it in HOMEOSTAT_TOKEN, because other users of the machine can see flags',
    )
    .addHelpText('after', backupHelp);
  command.action(async () => {
    const { runBackup } = await import('./backup-command.ts');
    done(await runBackup({ flags: command.opts<Record<string, unknown>>(), environment }));
  });
}

const backupHelp = `
A backup is a SQLite file. To restore it, stop the server, remove the -wal file beside its database if there is one, and
replace the database with the backup. With --every, the command runs until SIGTERM or SIGINT; it ends if the first
backup fails, and repeats a later failed backup after a minute. With --keep, but without --every, it suits cron.`;
