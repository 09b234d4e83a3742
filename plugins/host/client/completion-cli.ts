import type { Command } from 'commander';
import type { ClientSources } from './client-command.ts';
import { completionScripts } from './completion-scripts.ts';

/**
 * The name of a hidden command. The completion scripts of shells call it with the words that the user has typed, of
 * which the last may be incomplete.
 */
const asked = '__complete';

/** Adds `homeostat completion <shell>`. */
export function addCompletion(
  program: Command,
  environment: ClientSources['environment'],
  done: (exitCode: number) => void,
): void {
  program
    .command('completion')
    .description('Print a script that completes commands, options, kinds and names in a shell.')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', completionHelp)
    .action((shell: string) => {
      const script = completionScripts.get(shell);
      if (script === undefined)
        process.stderr.write(`error: completion: the shell must be bash, zsh or fish, not "${shell}"\n`);
      else process.stdout.write(script);
      done(script === undefined ? 2 : 0);
    });
  program
    .command(asked, { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const found = await candidates(program, words, environment);
      const last = words.at(-1) ?? '';
      process.stdout.write(
        found
          .filter((each) => each.startsWith(last))
          .map((each) => `${each}\n`)
          .join(''),
      );
      done(0);
    });
}

async function candidates(
  program: Command,
  words: readonly string[],
  environment: ClientSources['environment'],
): Promise<readonly string[]> {
  let command = program;
  let at = 0;
  for (; at < words.length - 1; at += 1) {
    const next = command.commands.find((each) => each.name() === words[at]);
    if (next === undefined) break;
    command = next;
  }
  const last = words.at(-1) ?? '';
  if (last.startsWith('-')) return command.options.flatMap(({ long }) => long ?? []);
  const subcommands = command.commands.map((each) => each.name()).filter((name) => name !== asked);
  if (subcommands.length > 0) return subcommands;
  const { objectCandidates } = await import('./object-candidates.ts');
  return objectCandidates({ command, words: words.slice(at), environment });
}

const completionHelp = `
bash: add to ~/.bashrc:                   source <(homeostat completion bash)
zsh:  add to ~/.zshrc, after compinit:    source <(homeostat completion zsh)
fish: homeostat completion fish > ~/.config/fish/completions/homeostat.fish

Kinds and names come from the server that the commands use, if it responds within a second.`;
