import { eventually } from '@homeostat/controller-runtime/testing';
import { freePort } from '../support/network/free-port.ts';
import { KillableServer } from '../support/servers/killable-server.ts';
import { TcpProxy } from '../support/network/tcp-proxy.ts';
import type { HistoryDatabase } from './database.ts';
import type { Mutant } from './mutants.ts';

/** A server process, which keeps its port during the whole run. */
export class Replica {
  readonly port: number;
  /** The proxy between the replica and its database server; undefined for SQLite and etcd. */
  readonly proxy: TcpProxy | undefined;
  readonly #args: readonly string[];
  #server: KillableServer | undefined;

  private constructor(port: number, options: { proxy: TcpProxy | undefined; args: readonly string[] }) {
    this.port = port;
    this.proxy = options.proxy;
    this.#args = options.args;
  }

  /** Creates a replica without starting it. */
  static async create({ url, server }: HistoryDatabase, mutant?: Mutant): Promise<Replica> {
    const proxy = server === undefined ? undefined : await TcpProxy.start(url, 5432);
    const port = await freePort();
    const args = [proxy?.url ?? url, String(port), ...(mutant === undefined ? [] : [mutant])];
    return new Replica(port, { proxy, args });
  }

  /**
   * Starts the process, and resolves when it is ready. Tries again if a start fails, because the database may notice
   * the end of the previous process only after a short time.
   */
  async start(): Promise<void> {
    const program = new URL('./history-server.js', import.meta.url);
    this.#server = await eventually(() => KillableServer.run(program, ...this.#args), { timeoutMs: 15_000 });
  }

  /**
   * Kills the process with SIGKILL. Throws when the process has already ended by itself, because no fault may cause
   * this.
   */
  async kill(): Promise<void> {
    if (this.#server?.hasEnded === true) throw new Error(`the server at port ${this.port} ended by itself`);
    await this.#server?.kill();
  }

  pause(): void {
    this.#server?.pause();
  }

  resume(): void {
    this.#server?.resume();
  }

  async stop(): Promise<void> {
    try {
      await this.kill();
    } finally {
      await this.proxy?.close();
    }
  }
}
