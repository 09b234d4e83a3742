import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { HostileAnswer, HostileRequest } from './hostile-request.ts';
import type { HostileServerCalls } from './hostile-server.ts';
import { sendRequest } from './send-request.ts';

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** A server in a separate process for hostile requests. It serves the kinds Person, Letter, Machine and Thing. */
export class HostileProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #port = 0;

  private constructor(database: string) {
    const file = new URL('./hostile-server.js', import.meta.url);
    this.#child = fork(file, [database], { execArgv: ['--expose-gc'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child.on('message', (reply) => this.#settle(reply as Reply));
    this.#child.on('exit', (code, signal) => this.#rejectAll(`the server ended: ${String(code ?? signal)}`));
  }

  /** Starts the process. `database` is the URL of a database that several processes may share. */
  static async start(database: string = 'memory:'): Promise<HostileProcess> {
    const server = new HostileProcess(database);
    await new Promise<void>((resolve, reject) => server.#waiting.set(0, { resolve, reject }));
    server.#port = Number(new URL(await server.call('url')).port);
    return server;
  }

  /** The reason why the process has ended; undefined while it runs. */
  get ended(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    return exitCode === null && signalCode === null ? undefined : String(exitCode ?? signalCode);
  }

  send(request: HostileRequest): Promise<HostileAnswer> {
    return sendRequest(this.#port, request);
  }

  /** Calls a function in the process, and resolves with its result. Rejects if the function or the process fails. */
  call<Name extends keyof HostileServerCalls>(
    name: Name,
    ...[argument]: Parameters<HostileServerCalls[Name]>
  ): Promise<Awaited<ReturnType<HostileServerCalls[Name]>>> {
    const id = (this.#calls += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, name, argument }, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  /** Suspends the process until it is resumed. To other servers, it looks like a server that has become very slow. */
  suspend(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.ended !== undefined) return;
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }

  #settle({ id, value, error }: Reply): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(value as never);
    else waiting?.reject(new Error(error));
  }

  #rejectAll(message: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(message));
    this.#waiting.clear();
  }
}
