import { randomUUID } from 'node:crypto';
import { sharedEtcd } from './etcd-cluster.ts';
import type { EtcdCluster } from './etcd-cluster.ts';

/** A new database for a test, in the cluster that all tests share. */
export class EtcdTestDatabase {
  readonly #cluster: EtcdCluster;
  readonly #prefix = `/test/${randomUUID()}`;

  private constructor(cluster: EtcdCluster) {
    this.#cluster = cluster;
  }

  static async create(context: Mocha.Context): Promise<EtcdTestDatabase> {
    return new EtcdTestDatabase(await sharedEtcd(context));
  }

  get url(): string {
    return this.#cluster.url(this.#prefix);
  }

  /**
   * Changes the database as a newer program does at its start: the key `head` gets the next schema version, and other
   * fields if given.
   */
  async upgrade(fields?: string): Promise<void> {
    const head = `${this.#prefix}/head`;
    const stored = await this.#cluster.ctl(['get', head, '--print-value-only']);
    const { schema, ...others } = JSON.parse(stored) as { schema: number };
    const next = fields === undefined ? others : (JSON.parse(fields) as object);
    await this.#cluster.ctl(['put', head, JSON.stringify({ schema: schema + 1, ...next })]);
  }

  drop(): Promise<void> {
    return this.#cluster.stop();
  }
}
