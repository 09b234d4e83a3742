import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../plugins/host/bin/homeostat.js', import.meta.url));

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `homeostat` to its end, with no environment but the given. */
export async function command(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return finish(process.execPath, [script, ...args], { environment });
}

export interface FinishOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string | undefined;
}

/** Runs a program to its end, for at most 30 s. Never rejects: a program that is not there ends with 127, as in a shell. */
export function finish(
  file: string,
  args: readonly string[],
  { environment, input = '' }: FinishOptions,
): Promise<Finished> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env['PATH'], ...environment }, timeout: 30_000 };
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ code: exitCodeOf(error), stdout, stderr });
    });
    // A program that does not read it closes it.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

function exitCodeOf(error: ExecFileException | null): number {
  if (error === null) return 0;
  if (typeof error.code === 'number') return error.code;
  return error.code === 'ENOENT' ? 127 : 1;
}
