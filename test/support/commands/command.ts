import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';
import { testPatienceMs } from '@homeostat/controller-runtime/testing';

/** The URL of the runner that the tests of the plugin host use. The package does not export it. */
const runner = new URL('../../../../plugins/host/dist/commands/run-command.fixture.js', import.meta.url).href;

interface Runner {
  runCommand(
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    input: string | undefined,
  ): Promise<Finished>;
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `homeostat` to its end, with only PATH, the given environment, and the given text as stdin. It runs in this
 * process, because a separate process takes a second of CPU time to load the server. Only one command can run at a
 * time, because it uses the streams of the process.
 */
export async function command(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input?: string,
): Promise<Finished> {
  const { runCommand } = (await import(runner)) as Runner;
  return runCommand(args, environment, input);
}

export interface FinishOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string | undefined;
}

/**
 * Runs a program to its end, for at most 30 s. Never rejects: a missing program has the exit code 127, as in a shell.
 */
export function finish(
  file: string,
  args: readonly string[],
  { environment, input = '' }: FinishOptions,
): Promise<Finished> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env['PATH'], ...environment }, timeout: testPatienceMs(30_000) };
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ code: exitCodeOf(error), stdout, stderr });
    });
    // A program that does not read its input closes the stream, which causes an error here.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

function exitCodeOf(error: ExecFileException | null): number {
  if (error === null) return 0;
  if (typeof error.code === 'number') return error.code;
  return error.code === 'ENOENT' ? 127 : 1;
}
