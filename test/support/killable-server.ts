import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** The restart server as a child process. */
export class KillableServer {
  readonly url: string;
  readonly #child: ChildProcessWithoutNullStreams;

  private constructor(child: ChildProcessWithoutNullStreams, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Resolves when the server is ready; rejects with what it said when it ends before. */
  static async start(file: string, port: number): Promise<KillableServer> {
    const program = new URL('./restart-server.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [program, file, String(port)]);
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

  /** SIGKILL: nothing in the process gets a chance to tidy up. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
