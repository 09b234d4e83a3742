import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { access, chown, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@homeostat/controller-runtime/testing';
import { Client } from 'pg';
import { freePort } from './killable-server.ts';

const run = promisify(execFile);

/** Where Debian has a folder for each version. */
const debianFolder = '/usr/lib/postgresql';

/** The servers refuse to run as root: then they run as this user, who owns their folder. */
const ownUser = 'postgres';

interface Installation {
  readonly bin: string;
  /** Absent: the user who runs the tests. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * A primary and a standby that has every write before it is acknowledged, on ports and in a folder of their own. Killing
 * processes leaves what the kernel has cached, so this shows what becomes of transactions, and nothing of a power cut:
 * that is why `fsync` may be off, with which a recovery is done in a tenth of the time.
 */
export class PostgresCluster {
  readonly primary: ClusterServer;
  readonly standby: ClusterServer;
  readonly #folder: string;
  readonly #abandon = (): void => {
    for (const server of [this.primary, this.standby]) server.abandon();
    rmSync(this.#folder, { recursive: true, force: true });
  };

  private constructor(folder: string, primary: ClusterServer, standby: ClusterServer) {
    this.#folder = folder;
    this.primary = primary;
    this.standby = standby;
    // Where the run ends without its hooks.
    process.once('exit', this.#abandon);
  }

  /** undefined where PostgreSQL's programs are not installed, which in CI is an error. */
  static async start(): Promise<PostgresCluster | undefined> {
    const installation = await findInstallation();
    if (!installation) {
      const reason = 'there is no initdb: pg_config --bindir says where, or /usr/lib/postgresql/<version>/bin';
      if (process.env['CI'] === 'true') throw new Error(reason);
      process.stderr.write(`skipped, as ${reason}: `);
      return undefined;
    }
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-cluster-'));
    if (installation.user) await chown(folder, installation.user.uid, installation.user.gid);
    const cluster = new PostgresCluster(
      folder,
      // It waits for the standby of this name from its first write on.
      new ClusterServer(installation, { folder: join(folder, 'a'), port: await freePort(), waitsFor: 'b' }),
      new ClusterServer(installation, { folder: join(folder, 'b'), port: await freePort() }),
    );
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async #start(): Promise<void> {
    await this.primary.create();
    await this.primary.start();
    await this.standby.copy(this.primary);
    await this.standby.start();
    await this.whenSynchronous();
  }

  /** Until the primary has its standby. */
  async whenSynchronous(): Promise<void> {
    const query = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`;
    await eventually(async () => (await this.primary.query(query)) > 0, {
      timeoutMs: 15_000,
      describe: () => `the standby to follow: ${this.standby.log}`,
    });
  }

  /**
   * Leaves a commit in between: the primary has it and has sent it, the standby has not read it, and nobody has an answer.
   * From here on nothing can be written.
   */
  async haltInCommit(): Promise<void> {
    this.standby.freeze();
    const query = `SELECT FROM pg_stat_replication WHERE sent_lsn >= pg_current_wal_lsn()
      AND EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'homeostat')`;
    await eventually(async () => (await this.primary.query(query)) > 0, {
      describe: 'a commit to wait for the standby',
    });
  }

  /** Ends what runs, and removes all of it. */
  async stop(): Promise<void> {
    await Promise.all([this.primary.stopImmediately(), this.standby.stopImmediately()]);
    await rm(this.#folder, { recursive: true, force: true });
    process.off('exit', this.#abandon);
  }
}

interface ServerOptions {
  readonly folder: string;
  readonly port: number;
  /** The standby that a commit waits for. */
  readonly waitsFor?: string;
}

/** One server; its process is the tests' child. */
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

  /** The last that it said. */
  get log(): string {
    return this.#log.join('');
  }

  async create(): Promise<void> {
    const options = ['--username=postgres', '--auth=trust', '--locale=C', '--encoding=UTF8', '--no-sync'];
    await this.#run('initdb', ...options, '-D', this.#options.folder);
  }

  /** Becomes the standby of the other, once started. */
  async copy(primary: ClusterServer): Promise<void> {
    const source = `postgres://postgres@${primary.host}/postgres`;
    const options = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
    await this.#run('pg_basebackup', ...options, '-d', source, '-D', this.#options.folder);
  }

  /** Resolves when it answers questions. */
  async start(): Promise<void> {
    const { folder, port, waitsFor = '' } = this.#options;
    const settings = {
      // The name by which a primary knows its standby.
      cluster_name: folder.slice(-1),
      synchronous_standby_names: waitsFor,
      synchronous_commit: 'on',
      fsync: 'off',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      wal_retrieve_retry_interval: '100ms',
      // In the folder rather than in /dev/shm, where it would outlive a kill.
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

  /** Answers the number of rows. */
  async query(text: string): Promise<number> {
    const client = new Client({
      connectionString: `postgres://postgres@${this.host}/postgres`,
      connectionTimeoutMillis: 5_000,
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rowCount ?? 0;
    } finally {
      await client.end();
    }
  }

  /** A standby becomes a primary. */
  async promote(): Promise<void> {
    await this.#run('pg_ctl', 'promote', '--wait', '--timeout=20', '-D', this.#options.folder);
  }

  /** `pg_ctl stop -m immediate`: it tidies nothing up, and has to recover at its next start. */
  async stopImmediately(): Promise<void> {
    this.thaw();
    await this.#end((child) => child.kill('SIGQUIT'));
  }

  /** SIGKILL to all of its processes at once. */
  async kill(): Promise<void> {
    await this.#end(() => this.#signal('SIGKILL'));
    await this.#freeSharedMemory();
  }

  /** Stands still, with its connections, until {@link thaw}. */
  freeze(): void {
    this.#signal('SIGSTOP');
  }

  thaw(): void {
    this.#signal('SIGCONT');
  }

  /** Kills it without waiting. */
  abandon(): void {
    this.#signal('SIGKILL');
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
    // The processes share its stderr, which closes with the last of them.
    const closed = once(child, 'close');
    signal(child);
    await closed;
  }

  /** The few bytes by which PostgreSQL notices a second server in its folder; a restart would free them. */
  async #freeSharedMemory(): Promise<void> {
    const text = await readFile(join(this.#options.folder, 'postmaster.pid'), 'utf8').catch(() => '');
    const id = text.split('\n')[6]?.trim().split(/\s+/)[1];
    // Another system may have no such thing.
    if (id !== undefined) await run('ipcrm', ['-m', id]).catch(() => undefined);
  }

  async #run(program: string, ...args: readonly string[]): Promise<void> {
    await run(join(this.#installation.bin, program), args, { ...this.#installation.user, cwd: '/', timeout: 30_000 });
  }
}

async function findInstallation(): Promise<Installation | undefined> {
  const configured = await run('pg_config', ['--bindir']).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  );
  const versions = await readdir(debianFolder).catch(() => []);
  versions.sort((a, b) => Number(b) - Number(a));
  const user = await otherUser();
  if (user === 'missing') return undefined;
  for (const bin of [...configured, ...versions.map((version) => join(debianFolder, version, 'bin'))]) {
    const isThere = await access(join(bin, 'initdb')).then(
      () => true,
      () => false,
    );
    if (isThere) return { bin, user };
  }
  return undefined;
}

/** Who is to run the servers where the tests run as root. */
async function otherUser(): Promise<Installation['user'] | 'missing'> {
  if (userInfo().uid !== 0) return undefined;
  const ids = ['-u', '-g'].map(async (option) => Number((await run('id', [option, ownUser])).stdout));
  return Promise.all(ids).then(
    ([uid = 0, gid = 0]) => ({ uid, gid }),
    () => 'missing',
  );
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
