import { rmSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { ClusterServer } from './cluster-server.ts';
import { freePort } from '../network/free-port.ts';
import { findInstallation } from './postgres-installation.ts';

const endingSignals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/**
 * A primary and a synchronous standby, each with its own port, in one folder. The primary acknowledges a write only
 * when the standby has it. The tests kill processes, but cannot simulate a power failure, because the kernel keeps what
 * a killed process has written. So `fsync` may be off, which makes recovery ten times faster.
 */
export class PostgresCluster {
  readonly primary: ClusterServer;
  readonly standby: ClusterServer;
  readonly #folder: string;
  /**
   * Exits when a signal interrupts the tests. Mocha then calls no hooks, but the event `exit` of the process calls
   * `#abandon`, which kills the servers.
   */
  // oxlint-disable-next-line unicorn/no-process-exit -- ends the process as the signal does by default
  readonly #exit = (): void => process.exit(1);
  readonly #abandon = (): void => {
    for (const server of [this.primary, this.standby]) server.abandon();
    rmSync(this.#folder, { recursive: true, force: true });
  };

  private constructor(folder: string, primary: ClusterServer, standby: ClusterServer) {
    this.#folder = folder;
    this.primary = primary;
    this.standby = standby;
    process.once('exit', this.#abandon);
    for (const signal of endingSignals) process.once(signal, this.#exit);
  }

  /** Starts a cluster; skips the tests if PostgreSQL's programs are not installed. */
  static async start(context: Mocha.Context): Promise<PostgresCluster> {
    const installation = await findInstallation();
    if (!installation)
      return context.skipBecause(
        'there is no initdb in the folder that pg_config --bindir prints, or in /usr/lib/postgresql/<version>/bin',
      );
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-cluster-'));
    if (installation.user) await chown(folder, installation.user.uid, installation.user.gid);
    const cluster = new PostgresCluster(
      folder,
      // From its first write on, the primary waits for the standby with this name.
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

  /** Waits until the standby receives the primary's changes, and the primary's commits wait for the standby. */
  async whenSynchronous(): Promise<void> {
    const query = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`;
    await eventually(async () => (await this.primary.query(query)) > 0, {
      timeoutMs: 15_000,
      describe: () => `the standby to replicate synchronously: ${this.standby.log}`,
    });
  }

  /**
   * Stops the cluster in the middle of a commit: the primary has written and sent the commit, the standby has not read
   * it, and no client has a response. After this, no write succeeds.
   */
  async haltInCommit(): Promise<void> {
    this.standby.freeze();
    const query = `SELECT FROM pg_stat_replication WHERE sent_lsn >= pg_current_wal_lsn()
      AND EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'homeostat')`;
    await eventually(async () => (await this.primary.query(query)) > 0, {
      describe: 'a commit to wait for the standby',
    });
  }

  /** Ends all servers, and removes their files. */
  async stop(): Promise<void> {
    await Promise.all([this.primary.stopImmediately(), this.standby.stopImmediately()]);
    await rm(this.#folder, { recursive: true, force: true });
    process.off('exit', this.#abandon);
    for (const signal of endingSignals) process.off(signal, this.#exit);
  }
}
