import { Command, CommanderError } from 'commander';
import { basename, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { createPlugin, groupProblemOf, kindProblemOf, nameProblemOf } from './create-plugin.ts';
import type { NewPlugin } from './create-plugin.ts';
import { ScaffoldError } from './names/scaffold-error.ts';

/** The exit code for a mistake, such as an unknown option or a folder that is not empty. */
const usageExitCode = 2;

/** The parts of the process that the command uses. */
export type CreateEnvironment = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>;

interface Given {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly yes?: boolean;
}

/** The exit code that shells use for a command ended by Ctrl+C. */
const interruptedExitCode = 130;

/**
 * Runs `npm create homeostat`, and returns the exit code: 0 after a success; 2 after a mistake, which is printed on
 * stderr; 130 when the user presses Ctrl+C or Ctrl+D at a question. With 2 or 130, no file was written.
 */
export async function runCreate(argv: readonly string[], environment: CreateEnvironment): Promise<number> {
  const program = createProgram(environment);
  try {
    program.parse(argv, { from: 'user' });
    const ask = await asker(program.opts<Given>(), environment);
    try {
      const plugin = await readOptions(program, ask.question);
      await createPlugin(plugin);
      environment.stdout.write(nextSteps(plugin));
    } finally {
      ask.close();
    }
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitCode;
    if (isInterruption(error)) return interruptedExitCode;
    if (!(error instanceof ScaffoldError)) throw error;
    environment.stderr.write(`${error.message}\n`);
    return usageExitCode;
  }
}

/** True for the error with which readline ends a question at Ctrl+C or Ctrl+D. */
function isInterruption(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ABORT_ERR';
}

function createProgram({ stdout, stderr }: CreateEnvironment): Command {
  return new Command('create-homeostat')
    .description('Make a plugin of Homeostat: a kind, a controller, a declared object, and tests.')
    .argument('[folder]', 'new or empty folder for the plugin (default: my-plugin)')
    .option('--name <name>', "the plugin's name (default: the name of the folder)")
    .option('--group <domain>', "your domain, the group of the plugin's kinds (default: <name>.example.com)")
    .option('--kind <Kind>', 'kind of the plugin, in PascalCase (default: Greeting)')
    .option('--yes', 'use the defaults without asking')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', '\nAt a terminal, the command asks for each value that no option gives. It uses no network.')
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride();
}

interface Asked {
  readonly what: string;
  readonly proposal: string;
  /** Returns why the text that the user typed is invalid; undefined when it is valid. */
  readonly problemOf?: (answer: string) => string | undefined;
}

/** Asks the user, and returns the answer or the default. */
type Question = (asked: Asked) => Promise<string>;

interface Asker {
  readonly question: Question;
  readonly close: () => void;
}

/**
 * Returns a function that asks the user, and asks again after a wrong answer. With `--yes` or without a terminal, it
 * returns the defaults without asking.
 */
async function asker({ yes = false }: Given, { stdin, stdout }: CreateEnvironment): Promise<Asker> {
  if (yes || !stdin.isTTY || !stdout.isTTY) return { question: async ({ proposal }) => proposal, close: () => {} };
  const terminal = createInterface({ input: stdin, output: stdout });
  const question: Question = async ({ what, proposal, problemOf }) => {
    for (;;) {
      const answer = (await terminal.question(`${what} (${proposal}): `)).trim() || proposal;
      const problem = problemOf?.(answer);
      if (problem === undefined) return answer;
      stdout.write(`${problem}\n`);
    }
  };
  return { question, close: () => terminal.close() };
}

async function readOptions(program: Command, question: Question): Promise<NewPlugin> {
  const given = program.opts<Given>();
  const folder = resolve(program.args[0] ?? (await question({ what: 'Folder', proposal: 'my-plugin' })));
  const name = given.name ?? (await question({ what: 'Name', proposal: basename(folder), problemOf: nameProblemOf }));
  const group =
    given.group ?? (await question({ what: 'Group', proposal: `${name}.example.com`, problemOf: groupProblemOf }));
  const problemOf = (kind: string): string | undefined => kindProblemOf({ group, kind });
  const kind = given.kind ?? (await question({ what: 'Kind', proposal: 'Greeting', problemOf }));
  return { folder, name, group, kind };
}

function nextSteps({ folder, name, kind }: NewPlugin): string {
  const way = relative('', folder);
  return `Made the plugin ${name} with the kind ${kind}. Next:
${way === '' ? '' : `  cd ${way}\n`}  npm install
  npm run dev
`;
}
