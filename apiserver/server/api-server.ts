import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { Clock, GroupVersionKind, Logger } from '@homeostat/controller-runtime/api';
import { LocalClient } from '../client/local-client.ts';
import { ObjectReader } from '../client/object-reader.ts';
import { GarbageCollector } from '../controllers/garbage-collector.ts';
import { createApp } from '../http/app.ts';
import type { HealthCheck } from '../http/health.ts';
import { ResourceHandler } from '../http/resource-handler.ts';
import { WatchHandler } from '../http/watch-handler.ts';
import { Compactor, defaultRetention } from '../registry/compactor.ts';
import type { Retention } from '../registry/compactor.ts';
import { Lister } from '../registry/lister.ts';
import { Registry } from '../registry/registry.ts';
import { ResourceTable } from '../registry/resource-table.ts';
import { RestoredLog } from '../registry/restored-log.ts';
import { Revisions } from '../registry/revisions.ts';
import { SchemeManager } from '../registry/scheme-manager.ts';
import { openStore } from '../store/database-url.ts';
import { GroupCommit } from '../store/group-commit.ts';
import type { Store } from '../store/store.ts';
import { HttpListener } from './http-listener.ts';

/** How to run an API server. Everything has a default. */
export interface ApiServerOptions {
  /** `sqlite:<file>` or `memory:`. Default `sqlite:./data/homeostat.db`. */
  readonly database?: string;
  /** Address to listen on. Default 127.0.0.1. Any but a loopback address needs {@link insecure}. */
  readonly host?: string;
  /** Default 8700; 0 takes a free one. */
  readonly port?: number;
  /** Listen beyond this machine, in the clear and without authentication. */
  readonly insecure?: boolean;
  /** Host names to answer to, besides loopback names and `host`. */
  readonly hostNames?: readonly string[];
  /** Reserved suffix of the service's own groups. Default `homeostat.internal`. */
  readonly serviceDomain?: string;
  /** How much history watchers can resume from. */
  readonly retention?: Partial<Retention>;
  /** Default 60 s. */
  readonly bookmarkIntervalMs?: number;
  /** Watches at the same time; beyond it 429. Default 10,000. */
  readonly maxWatches?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly uuid?: () => string;
}

type Settings = Required<Omit<ApiServerOptions, 'retention'>> & { readonly retention: Retention };

function settingsOf(options: ApiServerOptions): Settings {
  return {
    database: 'sqlite:./data/homeostat.db',
    host: '127.0.0.1',
    port: 8700,
    insecure: false,
    hostNames: [],
    serviceDomain: 'homeostat.internal',
    bookmarkIntervalMs: 60_000,
    maxWatches: 10_000,
    clock: systemClock,
    logger: silentLogger,
    random: Math.random,
    uuid: randomUUID,
    ...options,
    retention: { ...defaultRetention, ...options.retention },
  };
}

/** The parts of a server, wired. */
interface Parts {
  readonly store: Store;
  readonly commits: GroupCommit;
  readonly compactor: Compactor;
  readonly collector: GarbageCollector;
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly watches: WatchHandler;
  readonly schemes: SchemeManager;
  readonly client: LocalClient;
  readonly listener: HttpListener;
  readonly readyChecks: HealthCheck[];
}

/** Opens the database and listens. Rejects, with nothing left behind, when either fails. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const settings = settingsOf(options);
  const store = await openStore(settings.database);
  try {
    const parts = await wire(settings, store);
    await parts.listener.listen(settings);
    parts.compactor.start();
    return new ApiServer(parts);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function wire(settings: Settings, store: Store): Promise<Parts> {
  const { clock, logger, random, uuid, retention } = settings;
  const opened = await store.open();
  const revisions = new Revisions(clock, opened.revision);
  // Of the log's ages nothing is known after a restart; its newest part is what watchers may ask for.
  const floor = Math.max(opened.compactRevision, opened.revision - retention.minChanges);
  const compactor: Compactor = new Compactor({
    store,
    clock,
    logger,
    retention,
    floor,
    trim: (revision) => trim(revision),
  });
  const log = await RestoredLog.read(
    store,
    { floor, revision: opened.revision, current: () => revisions.current },
    (change) => compactor.record(change.revision, change.data.length),
  );
  const schemes = new SchemeManager({ serviceDomain: settings.serviceDomain });
  const table = new ResourceTable({ schemes, store, logger, takeLog: (kind) => log.take(kind) });
  const trim = (revision: number): void => {
    log.trim(revision);
    for (const resource of table.served()) resource.trim(revision);
  };
  const commits = new GroupCommit(store, {
    onError: (err) => logger.error({ err }, 'a committed change could not be applied'),
  });
  const onCommit = (revision: number, bytes: number): void => {
    revisions.advance(revision);
    compactor.record(revision, bytes);
  };
  const registry = new Registry({ commits, revisions, clock, logger, random, uuid, onCommit });
  const lister = new Lister({ revisions, epoch: opened.epoch });
  const watches = new WatchHandler({ ...settings, lister, revisions });
  table.on('closed', (resource) => watches.closeKind(resource));
  const collector = new GarbageCollector({ registry, table, logger });
  const client = new LocalClient({ registry, lister, table, revisions, reader: new ObjectReader(), logger });
  const readyChecks: HealthCheck[] = [];
  const listener: HttpListener = new HttpListener(
    createApp({
      resources: new ResourceHandler({ registry, lister, watches }),
      find: (group, version, plural) => table.find(group, version, plural),
      models: () => table.served().map(({ model }) => model),
      live: [],
      ready: readyChecks,
      stopping: () => listener.stopping,
      hostNames: [settings.host, ...settings.hostNames],
      logger,
      uuid,
    }).callback(),
  );
  return { store, commits, compactor, collector, registry, table, watches, schemes, client, listener, readyChecks };
}

/** A running API server. */
export class ApiServer {
  readonly #parts: Parts;
  #drained: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** `http://<host>:<port>`. */
  get url(): string {
    return this.#parts.listener.url;
  }

  /** The kinds that are registered; a registration makes a kind served. */
  get schemeManager(): SchemeManager {
    return this.#parts.schemes;
  }

  /** The client of what runs in this process. */
  get client(): Client {
    return this.#parts.client;
  }

  /** Resolves when a registered kind is indexed and served. Rejects with IndexBuildError, naming index, value and objects. */
  async whenReady(gvk: GroupVersionKind): Promise<void> {
    await this.#parts.table.whenReady(gvk);
  }

  /** Objects indexed so far, while a kind is being indexed. */
  indexingProgress(gvk: GroupVersionKind): number | undefined {
    const registration = this.#parts.schemes.lookup(gvk);
    return registration === undefined ? undefined : this.#parts.table.progress(registration.descriptor);
  }

  /** `/readyz` answers 503 while the check says what is missing. */
  addReadyCheck(check: HealthCheck): void {
    this.#parts.readyChecks.push(check);
  }

  /** No write is under way, and garbage collection has nothing to do. */
  isIdle(): boolean {
    const { registry, commits, collector } = this.#parts;
    return registry.isIdle() && commits.isIdle() && collector.isIdle();
  }

  /**
   * Refuses new requests (503), ends watches with a bookmark, and resolves when the last request under way is answered.
   * Controllers of this process may still write: they end between this and {@link stop}.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Drains, finishes what is under way, and closes the database. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const { listener, watches } = this.#parts;
    listener.refuse();
    watches.close();
    await listener.close();
  }

  async #stop(): Promise<void> {
    const { collector, compactor, commits, store } = this.#parts;
    await this.drain();
    await collector.stop();
    await compactor.stop();
    await commits.close();
    await store.close();
  }
}
