import { Readable } from 'node:stream';
import { runCli } from '../cli.ts';

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Collects the text that is written to a stream, instead of printing the text, until `release` is called. */
export class Captured {
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

/** Replaces the stdin of the process by one that is not a terminal; returns a function that restores it. */
function replaceStdin(text: string): () => void {
  const own = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  const value = Readable.from([Buffer.from(text)]);
  Object.defineProperty(process, 'stdin', { value, configurable: true, enumerable: true });
  return () => Object.defineProperty(process, 'stdin', own);
}

/**
 * Runs `homeostat` to its end, with only PATH, the given environment, and a stdin with the given text. The command runs
 * in this process, because a separate process takes half a second of CPU time to load the server. Run one command at a
 * time, because the commands share the streams of the process.
 */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = '',
): Promise<Finished> {
  const restoreStdin = replaceStdin(input);
  const [stdout, stderr] = [new Captured(process.stdout), new Captured(process.stderr)];
  const exit = (code: number): never => {
    throw new Error(`homeostat ${args.join(' ')} ended its process with ${code}`);
  };
  try {
    const code = await runCli(args, { environment: { PATH: process.env['PATH'], ...environment }, exit });
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    stdout.release();
    stderr.release();
    restoreStdin();
  }
}
