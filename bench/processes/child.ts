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

/** The time that a child has to end by itself, since it may have to drop databases. */
const graceMs = 30_000;

const ownChildren = new URL('../children/', import.meta.url);

/** The compiled children of another checkout. */
export function childrenOf(checkout: string): URL {
  return pathToFileURL(join(checkout, 'bench/dist/children/'));
}

/**
 * A script of `children/` in a separate process. The process ends when the object goes out of scope, or when this
 * process ends.
 */
export class Child implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;

  /** `folder` has the compiled children; it may belong to another checkout. */
  constructor(script: string, nodeOptions: readonly string[] = [], folder: URL = ownChildren) {
    const file = new URL(`${script}.js`, folder);
    this.#process = fork(file, { execArgv: [...nodeOptions], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#process.on('message', (reply) => this.#settle(reply as Reply));
    this.#process.on('exit', (code, signal) => this.#rejectAll(`${script} ended (${String(code ?? signal)})`));
  }

  /** Runs one of the child's functions; resolves with the result that the child sent as JSON. */
  call<Result = void>(name: string, argument?: unknown): Promise<Result> {
    const id = (this.#calls += 1);
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.send({ id, name, argument } satisfies Call, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  /** Processor time of all threads of the child so far. Linux only. @throws Error elsewhere */
  cpuMs(): number {
    return [...this.threadsMs().values()].reduce((sum, ms) => sum + ms, 0);
  }

  /** Processor time of each thread so far, by its id. Linux only. @throws Error elsewhere */
  threadsMs(): ReadonlyMap<string, number> {
    const tasks = `/proc/${String(this.#process.pid)}/task`;
    const ofThread = (id: string): number => Number(readFileSync(`${tasks}/${id}/schedstat`, 'utf8').split(' ')[0]);
    return new Map(readdirSync(tasks).map((id) => [id, ofThread(id) / 1e6]));
  }

  /** Like {@link threadsMs}, without the main thread. */
  otherThreadsMs(): ReadonlyMap<string, number> {
    return new Map([...this.threadsMs()].filter(([id]) => id !== String(this.#process.pid)));
  }

  /** Processor time of the child's main thread so far. Linux only. @throws Error elsewhere */
  mainCpuMs(): number {
    return this.threadsMs().get(String(this.#process.pid)) ?? Number.NaN;
  }

  /**
   * Bytes that the child has written to disks so far, including those that still wait to be written. Linux only.
   * @throws Error elsewhere
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
