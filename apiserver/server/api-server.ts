import type { Client } from '@homeostat/controller-runtime';
import type { GroupVersionKind } from '@homeostat/controller-runtime/api';
import type { Metrics } from '@homeostat/controller-runtime/telemetry';
import { startProcessMetrics } from '@homeostat/controller-runtime/telemetry';
import type { Admissions } from '../admission/admission-table.ts';
import type { Assets } from '../assets/asset-table.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { PluginClient } from '../client/local-client.ts';
import { EncryptedStore } from '../encryption/encrypted-store.ts';
import { defaultEncryption, encryptionOf, processEncryption } from '../encryption/open-encryption.ts';
import type { Endpoints } from '../endpoints/serving/endpoint-table.ts';
import type { DebugPage } from '../http/pages/debug-page.ts';
import type { HealthCheck } from '../http/pages/health.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import { openStore } from '../store/open/database-url.ts';
import type { Store } from '../store/store.ts';
import { checkSettings, settingsOf } from './api-server-options.ts';
import type { ApiServerOptions, Settings } from './api-server-options.ts';
import type { PluginPermits } from '../client/plugin-guard.ts';
import { beginServing, wireServer } from './server-parts.ts';
import type { Parts } from './server-parts.ts';

/**
 * Starts a server: opens the database, and listens. Rejects when the server cannot open the database, cannot use a file
 * that an option names (such as a certificate), or cannot listen; with a TypeError when an option is invalid. After a
 * failure, nothing stays open.
 */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const settings = settingsOf(options);
  checkSettings(settings);
  const encryption = await encryptionOf(settings.encryptionConfig, defaultEncryption(settings.database));
  return startEncrypted(new EncryptedStore(await openStore(settings.database, settings), encryption), settings);
}

/**
 * Starts a server on a given store that is not open yet, and ignores the option `database`. Without the option
 * `encryptionConfig`, the server encrypts with a random key that all servers of this process share.
 */
export async function startOn(store: Store, options: ApiServerOptions): Promise<ApiServer> {
  const settings = settingsOf(options);
  return startEncrypted(
    new EncryptedStore(store, await encryptionOf(settings.encryptionConfig, processEncryption)),
    settings,
  );
}

async function startEncrypted(store: EncryptedStore, settings: Settings): Promise<ApiServer> {
  const parts = await wireServer(settings, store).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const server = new ApiServer(parts);
  try {
    await beginServing(parts, settings);
    return server;
  } catch (error) {
    // When a start fails, controllers may already be working on stored objects, so the server is stopped.
    await server.stop();
    throw error;
  }
}

/** A running API server. */
export class ApiServer {
  readonly #parts: Parts;
  readonly #stopMeasuring: () => void;
  #drained: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stopMeasuring = startProcessMetrics(parts.metrics);
  }

  /** The URL of the server: `http://<host>:<port>`, or `https://…`. */
  get url(): string {
    return this.#parts.listener.url;
  }

  /**
   * The certificate that clients have to trust, as PEM; undefined for plain HTTP, and when the given certificate chain
   * does not end with its certificate authority.
   */
  get ca(): string | undefined {
    return this.#parts.secure?.certificate.ca;
  }

  /** True when other servers, called replicas, can serve the same database. */
  get sharesDatabase(): boolean {
    return this.#parts.store.isShared;
  }

  /**
   * Resolves with an error when a newer version of this package has upgraded the database; otherwise it stays pending.
   * After the upgrade, writes get 503, `/readyz` and `/livez` report the problem, and the server should be stopped.
   */
  get outdated(): Promise<Error> {
    return this.#parts.health.outdated;
  }

  /** The registered kinds. A registered kind is served once it is indexed; see {@link ApiServer.whenReady}. */
  get schemeManager(): SchemeManager {
    return this.#parts.schemes;
  }

  /** The endpoints of plugins (specification, section 4.3), without the paths that the server generates for kinds. */
  get endpoints(): Endpoints {
    return this.#parts.endpoints;
  }

  /** The static files of plugins. */
  get assets(): Assets {
    return this.#parts.added.assets;
  }

  /** The admission hooks of plugins, which may change or refuse writes. */
  get admissions(): Admissions {
    return this.#parts.admissions;
  }

  /**
   * The client of the program that runs the server. It has all permissions, and may add labels of the service domain.
   */
  get client(): Client {
    return this.#parts.clients.own;
  }

  /**
   * A client for a plugin in this process: labels that it writes need a prefix other than the service's (specification,
   * section 2.5), and its field manager is `plugin:<name>`. Its user is `system:plugin:<name>`. With `permits`, it has
   * the permissions that `permits` allows, and those that roles grant to its user; without `permits`, it has all
   * permissions.
   */
  createPluginClient(name: string, permits?: PluginPermits): PluginClient {
    return this.#parts.clients.ofPlugin(name, permits);
  }

  /**
   * Ends the watches, streams and exports of the selected users, as if their credentials had become invalid. Call this
   * for users who were deleted or disabled.
   */
  endSessionsOf(selects: (user: UserInfo) => boolean): void {
    this.#parts.permissions.endOf(selects);
  }

  /** The metrics that `GET /metrics` returns. Code in the same process may add its own. */
  get metrics(): Metrics {
    return this.#parts.metrics;
  }

  /**
   * Resolves when a registered kind is indexed and served. Rejects when the kind is not registered, and with
   * IndexBuildError when its indexes cannot be built: if two objects have the same unique value, the message names the
   * index, the value and the objects.
   */
  async whenReady(gvk: GroupVersionKind): Promise<void> {
    await this.#parts.table.whenReady(gvk);
  }

  /**
   * Returns true when the objects of a registered kind are encrypted in the database. Logs should not contain the
   * values of such objects.
   */
  isEncrypted(gvk: GroupVersionKind): boolean {
    const registration = this.#parts.schemes.lookup(gvk);
    return registration !== undefined && this.#parts.store.encrypts(registration.descriptor);
  }

  /** Returns the number of objects that are already indexed while a kind is being indexed; undefined otherwise. */
  indexingProgress(gvk: GroupVersionKind): number | undefined {
    const registration = this.#parts.schemes.lookup(gvk);
    return registration === undefined ? undefined : this.#parts.table.progress(registration.descriptor);
  }

  /** Adds a check to `/readyz`, which responds with 503 while the check reports a problem. */
  addReadyCheck(check: HealthCheck): void {
    this.#parts.added.ready.push(check);
  }

  /** Adds a page at `/debug/<name>`. Throws when there is already one with that name. */
  addDebugPage(page: DebugPage): void {
    const { debug } = this.#parts.added;
    if (debug.some(({ name }) => name === page.name)) throw new Error(`there is a debug page "${page.name}" already`);
    debug.push(page);
  }

  /**
   * Returns true when no write is running, and the controllers of garbage collection, namespaces, events, runs,
   * definitions, roles, quotas and policies have no work.
   */
  isIdle(): boolean {
    const { registry, commits, collector, namespaces, events, runs, definitions, roles, quotas, policies } =
      this.#parts;
    return [registry, commits, collector, namespaces, events, runs, definitions, roles, quotas, policies].every(
      (part) => part.isIdle(),
    );
  }

  /**
   * Refuses new requests for objects and to plugins (503), ends watches with a bookmark, and aborts running exports,
   * backups and re-encryptions. Resolves when all connections are closed: each connection is closed after the response
   * to its running request, and after 10 s at the latest. Controllers of this process may still write. Stop them after
   * this call, and before {@link stop}.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Drains the server (see {@link drain}), finishes the running work, and closes the database. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const { listener, secure, access, watches, copies, bodies, endpoints, keeper } = this.#parts;
    listener.refuse();
    keeper.prepareStop();
    watches.close();
    copies.close();
    endpoints.stopStreams(new Error('the server is shutting down'));
    await listener.close();
    await bodies.close();
    await secure?.renewal.stop();
    await Promise.all(access.followed.map(async (followed) => followed.stop()));
  }

  async #stop(): Promise<void> {
    const {
      collector,
      namespaces,
      events,
      runs,
      definitions,
      roles,
      quotas,
      policies,
      compactor,
      memory,
      schemaWatch,
      commits,
      keeper,
      follower,
      store,
      webhooks,
    } = this.#parts;
    await this.drain();
    const followed = definitions.stop();
    const collected = Promise.all(
      [collector, namespaces, events, runs, roles, quotas, policies].map(async (each) => each.stop()),
    );
    await Promise.all([memory.stop(), compactor.stop(), schemaWatch.stop()]);
    // Pending writes wait for the follower, and the follower may wait for a database that never comes back, so the
    // follower is stopped first.
    await follower?.stop();
    await webhooks.client.close();
    await collected;
    await commits.close();
    // The audit log is closed after `commits`, because until then controllers of this process may write, and their
    // writes are audited.
    await this.#parts.audit?.close();
    this.#stopMeasuring();
    await keeper.stop();
    await store.close();
    // A kind that is being opened may wait for changes that the stopped follower no longer reads; closing the store
    // ends this wait.
    await followed;
  }
}
