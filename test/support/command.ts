import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';

/** The module behind `homeostat`, by its address: the package has no entry for it. */
const cli = new URL('../../../plugins/host/dist/cli.js', import.meta.url).href;

interface Cli {
  runCli(
    args: readonly string[],
    options: { readonly environment: Readonly<Record<string, string>>; readonly exit: (code: number) => never },
  ): Promise<number>;
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What is written to a stream, in its place. */
class Captured {
  text = '';
  readonly #stream: NodeJS.WriteStream;
  readonly #write: NodeJS.WriteStream['write'];

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#write = stream.write;
    stream.write = (piece: string | Uint8Array, ...rest: readonly unknown[]) => {
      this.text += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    };
  }

  release(): void {
    this.#stream.write = this.#write;
  }
}

/**
 * Runs `homeostat` to its end, with no environment but the given. It runs in this process, since one of its own takes a second of
 * CPU time to load the server. One command at a time: the streams are those of the process.
 */
export async function command(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const { runCli } = (await import(cli)) as Cli;
  const [stdout, stderr] = [new Captured(process.stdout), new Captured(process.stderr)];
  const exit = (code: number): never => {
    throw new Error(`homeostat ${args.join(' ')} ended its process with ${code}`);
  };
  try {
    const code = await runCli(args, { environment, exit });
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    stdout.release();
    stderr.release();
  }
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
