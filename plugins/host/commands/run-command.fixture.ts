import { runCli } from '../cli.ts';

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Collects the text written to a stream, instead of writing it. */
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
 * Runs `homeostat` to its end, with only PATH and the given environment. It runs in this process, since a separate
 * one takes half a second of CPU time to load the server. One command at a time: the streams are those of the process.
 */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> {
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
  }
}
