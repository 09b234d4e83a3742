import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Call, Reply } from './answer-calls.ts';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The time for which the parent waits until the child ends by itself. It is so long because the child may have to drop
 * databases.
 */
const graceMs = 30_000;

const ownChildren = new URL('../children/', import.meta.url);

/** Returns the folder with the compiled child scripts of another checkout. */
export function childrenOf(checkout: string): URL {
  return pathToFileURL(join(checkout, 'bench/dist/children/'));
}

/**
 * A child process that runs a script of `children/`. It ends when the object goes out of scope, or when this process
 * ends.
 */
export class Child implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;

  /** Starts the script. `folder` has the compiled child scripts, and may belong to another checkout. */
  constructor(script: string, nodeOptions: readonly string[] = [], folder: URL = ownChildren) {
    const file = new URL(`${script}.js`, folder);
    this.#process = fork(file, { execArgv: [...nodeOptions], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#process.on('message', (reply) => this.#settle(reply as Reply));
    this.#process.on('exit', (code, signal) => this.#rejectAll(`${script} ended (${String(code ?? signal)})`));
  }

  /** Calls one of the child's functions. Resolves with its result, which the child sends as JSON. */
  call<Result = void>(name: string, argument?: unknown): Promise<Result> {
    const id = (this.#calls += 1);
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.send({ id, name, argument } satisfies Call, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  /**
   * Returns the processor time of all threads of the child until now, in milliseconds. @throws Error on systems other
   * than Linux
   */
  cpuMs(): number {
    return [...this.threadsMs().values()].reduce((sum, ms) => sum + ms, 0);
  }

  /**
   * Returns the processor time of each thread until now, in milliseconds, by the id of the thread. @throws Error on
   * systems other than Linux
   */
  threadsMs(): ReadonlyMap<string, number> {
    const tasks = `/proc/${String(this.#process.pid)}/task`;
    const ofThread = (id: string): number => Number(readFileSync(`${tasks}/${id}/schedstat`, 'utf8').split(' ')[0]);
    return new Map(readdirSync(tasks).map((id) => [id, ofThread(id) / 1e6]));
  }

  /** Returns the processor time of each thread, except of the main thread, as {@link threadsMs} does. */
  otherThreadsMs(): ReadonlyMap<string, number> {
    return new Map([...this.threadsMs()].filter(([id]) => id !== String(this.#process.pid)));
  }

  /**
   * Returns the processor time of the child's main thread until now, in milliseconds. @throws Error on systems other
   * than Linux
   */
  mainCpuMs(): number {
    return this.threadsMs().get(String(this.#process.pid)) ?? Number.NaN;
  }

  /**
   * Returns the number of bytes that the child has written to disks until now, including those that the system still
   * has to write. @throws Error on systems other than Linux
   */
  writtenBytes(): number {
    const counters = readFileSync(`/proc/${String(this.#process.pid)}/io`, 'utf8');
    return Number(/^write_bytes: (\d+)$/m.exec(counters)?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), graceMs);
    if (this.#process.connected) this.#process.disconnect();
    await exited;
    clearTimeout(timer);
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
