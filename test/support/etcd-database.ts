import { startEtcd } from './etcd-cluster.ts';
import type { EtcdCluster } from './etcd-cluster.ts';

const prefix = '/test';

/** A new database for a test, on a cluster of one member of its own. */
export class EtcdTestDatabase {
  readonly #cluster: EtcdCluster;

  private constructor(cluster: EtcdCluster) {
    this.#cluster = cluster;
  }

  static async create(context: Mocha.Context): Promise<EtcdTestDatabase> {
    return new EtcdTestDatabase(await startEtcd(context, { size: 1 }));
  }

  get url(): string {
    return this.#cluster.url(prefix);
  }

  /** Does what a newer program does at its start: gives the head the next schema version, and replaces its other fields. */
  async upgrade(fields?: string): Promise<void> {
    const head = `${prefix}/head`;
    const stored = await this.#cluster.ctl(['get', head, '--print-value-only']);
    const { schema, ...others } = JSON.parse(stored) as { schema: number };
    const next = fields === undefined ? others : (JSON.parse(fields) as object);
    await this.#cluster.ctl(['put', head, JSON.stringify({ schema: schema + 1, ...next })]);
  }

  drop(): Promise<void> {
    return this.#cluster.stop();
  }
}
