import { eventually } from '@homeostat/controller-runtime/testing';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** A command that runs until it is stopped, such as `homeostat serve`. */
export class RunningCommand {
  readonly #child: ChildProcess;
  #output = '';

  constructor(program: string, args: readonly string[], folder: string) {
    this.#child = spawn(program, args, { cwd: folder });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk) => (this.#output += String(chunk)));
  }

  /** Resolves when the output matches a pattern. */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    const describe = (): string => `${String(pattern)} in\n${this.#output}`;
    return eventually(() => pattern.exec(this.#output), { timeoutMs: 60_000, describe });
  }

  /** Resolves with the URL of the server, when it is ready. */
  async url(): Promise<string> {
    const [line] = await this.said(/^\{.*"msg":"ready".*\}$/m);
    return (JSON.parse(line) as { readonly url: string }).url;
  }

  /** Ends the command with SIGTERM. Resolves with its exit code, or null if a signal ended it. */
  async stop(): Promise<number | null> {
    const { exitCode } = this.#child;
    if (exitCode !== null) return exitCode;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const [code] = (await exited) as [number | null];
    return code;
  }
}
