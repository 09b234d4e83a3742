import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, testPatienceMs } from '@homeostat/controller-runtime/testing';
import { Client } from 'pg';
import type { Installation } from './postgres-installation.ts';

const run = promisify(execFile);

interface ServerOptions {
  readonly folder: string;
  readonly port: number;
  /** The name of the standby for which a commit waits. */
  readonly waitsFor?: string;
}

/** A PostgreSQL server, as a child process of the tests. */
export class ClusterServer {
  /** `host:port`. */
  readonly host: string;
  readonly #installation: Installation;
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  #log: readonly string[] = [];

  constructor(installation: Installation, options: ServerOptions) {
    this.#installation = installation;
    this.#options = options;
    this.host = `127.0.0.1:${options.port}`;
  }

  /** The last output of the server. */
  get log(): string {
    return this.#log.join('');
  }

  async create(): Promise<void> {
    const options = ['--username=postgres', '--auth=trust', '--locale=C', '--encoding=UTF8', '--no-sync'];
    await this.#run('initdb', ...options, '-D', this.#options.folder);
  }

  /** Copies the data of a primary. When this server starts, it is the standby of the primary. */
  async copy(primary: ClusterServer): Promise<void> {
    const source = `postgres://postgres@${primary.host}/postgres`;
    const options = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
    await this.#run('pg_basebackup', ...options, '-d', source, '-D', this.#options.folder);
  }

  /** Starts the server, and resolves when it responds to queries. */
  async start(): Promise<void> {
    const { folder, port, waitsFor = '' } = this.#options;
    const settings = {
      // The name by which a primary identifies its standby.
      cluster_name: folder.slice(-1),
      synchronous_standby_names: waitsFor,
      synchronous_commit: 'on',
      fsync: 'off',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      wal_retrieve_retry_interval: '100ms',
      // Shared memory is in the folder. In /dev/shm, it would stay after a kill.
      dynamic_shared_memory_type: 'mmap',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(join(this.#installation.bin, 'postgres'), ['-D', folder, '-p', String(port), ...options], {
      ...this.#installation.user,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => (this.#log = [...this.#log.slice(-20), chunk.toString()]));
    const answers = async (): Promise<boolean> => (await this.query('SELECT')) > 0;
    await eventually(answers, { timeoutMs: 20_000, describe: () => `PostgreSQL to start: ${this.log}` });
  }

  /** Runs a query, and returns the number of rows. */
  async query(text: string): Promise<number> {
    const client = new Client({
      connectionString: `postgres://postgres@${this.host}/postgres`,
      connectionTimeoutMillis: testPatienceMs(5_000),
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rowCount ?? 0;
    } finally {
      await client.end();
    }
  }

  /** Makes this standby a primary. */
  async promote(): Promise<void> {
    await this.#run('pg_ctl', 'promote', '--wait', `--timeout=${testPatienceMs(20)}`, '-D', this.#options.folder);
  }

  /**
   * Stops the server as `pg_ctl stop -m immediate` does: without cleanup, so that it must recover at its next start.
   */
  async stopImmediately(): Promise<void> {
    this.thaw();
    await this.#end((child) => child.kill('SIGQUIT'));
  }

  /** Kills all processes of the server with SIGKILL. */
  async kill(): Promise<void> {
    await this.#end(() => this.abandon());
  }

  /** Suspends the server, with its connections, until {@link thaw}. */
  freeze(): void {
    this.#signal('SIGSTOP');
  }

  thaw(): void {
    this.#signal('SIGCONT');
  }

  /** Kills the server without waiting for its end. */
  abandon(): void {
    if (!this.#isRunning) return;
    this.#signal('SIGKILL');
    this.#freeSharedMemory();
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined || !this.#isRunning) return;
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split('\n');
    const processes = lines.map((line) => line.trim().split(/\s+/).map(Number));
    const children = processes.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
    for (const each of [pid, ...children]) signalIfThere(each, signal);
  }

  get #isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  async #end(signal: (child: ChildProcess) => void): Promise<void> {
    const child = this.#child;
    if (!child || !this.#isRunning) return;
    // All processes of the server share one stderr, which closes when the last process has ended.
    const closed = once(child, 'close');
    signal(child);
    await closed;
  }

  /**
   * Removes the shared memory segment by which PostgreSQL notices a second server in its folder. A killed server does
   * not remove it.
   */
  #freeSharedMemory(): void {
    try {
      const id = readFileSync(join(this.#options.folder, 'postmaster.pid'), 'utf8').split('\n')[6]?.split(/\s+/).at(-1);
      execFileSync('ipcrm', ['-m', id ?? ''], { stdio: 'ignore' });
    } catch {
      // There is nothing to remove: the server ended before it created the shared memory segment, or the system has no
      // such segment.
    }
  }

  async #run(program: string, ...args: readonly string[]): Promise<void> {
    await run(join(this.#installation.bin, program), args, {
      ...this.#installation.user,
      cwd: '/',
      timeout: testPatienceMs(30_000),
    });
  }
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process of the database has already ended, so it needs no signal.
  }
}
