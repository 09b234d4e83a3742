import { createInterface } from 'node:readline/promises';
import { CommandError } from './command-error.ts';

/** Asks the user on the terminal; no is the default. @throws CommandError when there is no terminal to ask on */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY) throw new CommandError(`"${question}" needs a terminal; --yes answers it`, 2);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    terminal.close();
  }
}
