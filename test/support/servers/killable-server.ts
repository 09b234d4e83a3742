import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';

/** A server as a child process, which prints its URL when it is ready. */
export class KillableServer {
  readonly url: string;
  readonly #child: ChildProcessWithoutNullStreams;

  private constructor(child: ChildProcessWithoutNullStreams, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Starts `restart-server.js` with a database file. */
  static start(file: string): Promise<KillableServer> {
    return KillableServer.run(new URL('./restart-server.js', import.meta.url), file);
  }

  /**
   * Starts a program, and resolves when its server is ready. If the program ends before its server is ready, rejects
   * with the program's error output.
   */
  static async run(program: URL, ...args: readonly string[]): Promise<KillableServer> {
    // The child process gets the same V8 options as this process.
    const child = spawn(process.execPath, [...process.execArgv, program.pathname, ...args]);
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const [first] = (await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`the server ended with ${String(code)}: ${errors}`);
      }),
    ])) as [Buffer];
    return new KillableServer(child, first.toString().trim());
  }

  /** True when the process has ended by a kill or by itself. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Suspends the process with SIGSTOP until {@link resume}. Its connections stay open. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Kills the process with SIGKILL, so that it cannot clean up. */
  async kill(): Promise<void> {
    if (this.hasEnded) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
