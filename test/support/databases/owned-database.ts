import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabaseOwner } from '@homeostat/apiserver';
import type { DatabaseOwner } from '@homeostat/apiserver';

/**
 * A new SQLite database that this process has open. Servers in this process and in other processes use it through this
 * process.
 */
export class OwnedDatabase {
  readonly url: string;
  readonly #folder: string;
  readonly #owner: DatabaseOwner;
  readonly #server: Server;

  private constructor(folder: string, owner: DatabaseOwner) {
    this.#folder = folder;
    this.#owner = owner;
    this.url = `sqlite:${join(folder, 'homeostat.db')}?owner=${join(folder, 'socket')}`;
    this.#server = createServer((socket) => owner.connect(socket));
  }

  static async create(): Promise<OwnedDatabase> {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-owned-'));
    const database = new OwnedDatabase(folder, await openDatabaseOwner(`sqlite:${join(folder, 'homeostat.db')}`));
    await new Promise<void>((resolve) => database.#server.listen(join(folder, 'socket'), resolve));
    return database;
  }

  async drop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#owner.close();
    await closed;
    await rm(this.#folder, { recursive: true });
  }
}
