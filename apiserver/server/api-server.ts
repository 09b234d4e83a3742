import type { Client } from '@homeostat/controller-runtime';
import type { GroupVersionKind } from '@homeostat/controller-runtime/api';
import { Metrics, startProcessMetrics } from '@homeostat/controller-runtime/telemetry';
import { AdmissionTable } from '../admission/admission-table.ts';
import type { Admissions } from '../admission/admission-table.ts';
import { AssetTable } from '../assets/asset-table.ts';
import type { Assets } from '../assets/asset-table.ts';
import { openAuditTrail } from '../audit/audit-trail.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { RoleKeeper } from '../authorization/rbac/role-keeper.ts';
import { openBuiltinKinds, strategyOf } from '../builtin/builtin-kinds.ts';
import { leaderRules } from '../builtin/lease-kind.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { LocalClient } from '../client/local-client.ts';
import type { PluginClient } from '../client/local-client.ts';
import { ObjectReader } from '../client/object-reader.ts';
import { EventExpiry } from '../controllers/event-expiry.ts';
import { GarbageCollector } from '../controllers/garbage-collector.ts';
import { UnservedDependents } from '../controllers/unserved-dependents.ts';
import { NamespaceController } from '../controllers/namespace-controller.ts';
import { definitionJudge } from '../crd/definition-judge.ts';
import { DefinitionController } from '../crd/definition-controller.ts';
import type { BodyCodec } from '../decode/body-codec.ts';
import { EncryptedStore } from '../encryption/encrypted-store.ts';
import { defaultEncryption, encryptionOf, processEncryption } from '../encryption/open-encryption.ts';
import type { EndpointTable, Endpoints } from '../endpoints/serving/endpoint-table.ts';
import { RequestPermissions } from '../http/access/request-permissions.ts';
import type { DebugPage } from '../http/pages/debug-page.ts';
import type { HealthCheck } from '../http/pages/health.ts';
import { QuotaController } from '../quota/quota-controller.ts';
import { adoptGeneration } from '../registry/kinds/sync-unique-claims.ts';
import type { Compactor } from '../registry/history/compactor.ts';
import type { Follower } from '../registry/follow/follower.ts';
import { Lister } from '../registry/reads/lister.ts';
import { Registry } from '../registry/registry.ts';
import { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import { openStore } from '../store/open/database-url.ts';
import type { StoredKind } from '../store/object-key.ts';
import type { GroupCommit } from '../store/group-commit.ts';
import type { Store } from '../store/store.ts';
import { openTls } from '../tls/open-tls.ts';
import type { SecureParts } from '../tls/open-tls.ts';
import { AbsentKinds } from './absent-kinds.ts';
import { checkSettings, settingsOf } from './api-server-options.ts';
import type { ApiServerOptions, Settings } from './api-server-options.ts';
import { Clients } from '../client/clients.ts';
import { createAccess } from './create-access.ts';
import type { Access } from './create-access.ts';
import { quotaAdmission, writeRules } from './create-admission.ts';
import { createEndpoints } from './create-endpoints.ts';
import { createCopies, createHandlers, createListener } from './create-handlers.ts';
import { DatabaseHealth } from './database-health.ts';
import type { HttpListener } from './http-listener.ts';
import type { PluginPermits } from '../client/plugin-guard.ts';
import { openStorage } from './open-storage.ts';
import { SchemaWatch } from './schema-watch.ts';
import { sampleServer } from './server-metrics.ts';

/**
 * The part that handles requests. Not its class, whose declaration has types of koa, which are not published.
 */
interface Closable {
  close(): void;
}

/** The part that ends open requests. Not its class, for the same reason. */
interface OpenRequests {
  endOf(selects: (user: UserInfo) => boolean): void;
}

/** The connected parts of a server. */
interface Parts {
  readonly store: Store;
  readonly commits: GroupCommit;
  readonly compactor: Compactor;
  /** Set when other processes write to the database as well. */
  readonly follower: Follower | undefined;
  readonly collector: GarbageCollector;
  readonly namespaces: NamespaceController;
  readonly quotas: QuotaController;
  readonly events: EventExpiry;
  readonly health: DatabaseHealth;
  readonly schemaWatch: SchemaWatch;
  readonly definitions: DefinitionController;
  readonly roles: RoleKeeper;
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly absent: AbsentKinds;
  readonly watches: Closable;
  readonly copies: Closable;
  readonly bodies: BodyCodec;
  readonly schemes: SchemeManager;
  readonly endpoints: EndpointTable;
  readonly admissions: AdmissionTable;
  readonly clients: Clients;
  readonly permissions: OpenRequests;
  readonly metrics: Metrics;
  readonly listener: HttpListener;
  /** What a server with TLS has in addition. */
  readonly secure: SecureParts | undefined;
  readonly access: Access;
  /** undefined: requests are not audited. */
  readonly audit: AuditTrail | undefined;
  /** Parts that are added while the server runs. */
  readonly added: { readonly ready: HealthCheck[]; readonly debug: DebugPage[]; readonly assets: AssetTable };
}

/**
 * Opens the database and listens. Rejects, leaving nothing behind, when either fails or there is no certificate; with
 * TypeError for an invalid token, domain or host name.
 */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const settings = settingsOf(options);
  checkSettings(settings);
  const encryption = await encryptionOf(settings.encryptionConfig, defaultEncryption(settings.database));
  return startEncrypted(new EncryptedStore(await openStore(settings.database, settings), encryption), settings);
}

/**
 * The same on a given store that is not open yet; `database` is then ignored. Without a configuration of encryption, the key
 * is that of the process.
 */
export async function startOn(store: Store, options: ApiServerOptions): Promise<ApiServer> {
  const settings = settingsOf(options);
  return startEncrypted(
    new EncryptedStore(store, await encryptionOf(settings.encryptionConfig, processEncryption)),
    settings,
  );
}

async function startEncrypted(store: EncryptedStore, settings: Settings): Promise<ApiServer> {
  const parts = await wire(settings, store).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const server = new ApiServer(parts);
  try {
    await begin(parts, settings);
    return server;
  } catch (error) {
    // Stored objects may already have given the controllers work.
    await server.stop();
    throw error;
  }
}

async function begin(parts: Parts, settings: Settings): Promise<void> {
  await openBuiltinKinds({ ...parts, ...settings });
  await parts.roles.open();
  await parts.access.administrator?.open();
  await parts.definitions.open();
  await parts.absent.open();
  await parts.listener.listen(settings);
  parts.compactor.start();
  parts.follower?.start();
  if (parts.store.isShared) parts.schemaWatch.start();
  parts.secure?.renewal.start(parts.secure.certificate);
  for (const followed of parts.access.followed) followed.start();
  await parts.namespaces.ensureDefault();
  parts.definitions.start();
}

async function wire(settings: Settings, store: EncryptedStore): Promise<Parts> {
  const { clock, logger, serviceDomain } = settings;
  const health = new DatabaseHealth(clock);
  const metrics = new Metrics();
  const kinds: { table?: ResourceTable } = {};
  const memory = await openStorage({ ...settings, store, health, metrics, table: () => kinds.table });
  const { log, revisions, commits, follower, compactor, epoch, onChange, vault } = memory;
  const schemes = new SchemeManager({ serviceDomain });
  const endpoints = createEndpoints(settings, schemes);
  const judgeOf = definitionJudge(serviceDomain);
  const table = new ResourceTable({ schemes, store, log, revisions, logger, strategyOf, judgeOf });
  kinds.table = table;
  const onOldGeneration = (resource: Resource): Promise<void> => adoptGeneration(resource, store);
  const admissions = new AdmissionTable({ lookup: (gvk) => schemes.lookup(gvk) });
  schemes.on('unregistered', ({ descriptor }) => admissions.forgetKind(descriptor));
  const access = await createAccess(settings, { vault, table, revisions, isShared: store.isShared });
  const reserve = quotaAdmission(settings, { table, isShared: store.isShared, registry: () => registry });
  const checks = writeRules(settings, { table, vault, isShared: store.isShared, ...access });
  const rules = { ...checks, leaders: leaderRules(table), hooks: admissions, reserve };
  const registry: Registry = new Registry({
    ...settings,
    ...rules,
    commits,
    revisions,
    onCommit: onChange,
    onOldGeneration,
  });
  const lister = new Lister({ revisions, epoch });
  const permissions = new RequestPermissions({ ...access, clock });
  const handlers = createHandlers(settings, { ...access, registry, lister, revisions, permissions });
  const { watches } = handlers;
  table.on('closed', (resource) => watches.closeKind(resource));
  sampleServer(metrics, { table, watches });
  const unserved = new UnservedDependents({ store, table, log, hidden: vault.kindNumber });
  const collector = new GarbageCollector({ registry, table, revisions, unserved, clock, logger });
  const namespaces = new NamespaceController({ store, registry, table, revisions, clock, logger });
  const events = new EventExpiry({ ...settings, registry, table });
  const definitions = new DefinitionController({ schemes, table, registry, clock, logger });
  const roles = new RoleKeeper({ ...access, registry, table, revisions, clock, logger });
  const reader = new ObjectReader();
  const awaited = [settings.awaitedKind, (kind: StoredKind) => definitions.awaited(kind)];
  const absent = new AbsentKinds({ store, schemes, table, awaited });
  const added: Parts['added'] = { ready: [health, ...settings.readyChecks], debug: [], assets: new AssetTable() };
  const copies = createCopies(settings, { store, storage: memory, table, permissions });
  const secure = await openTls(settings, (certificate) => listener.showKeyPair(certificate));
  const shared = { table, absent, copies, bodies: handlers.bodies, endpoints, metrics, added };
  const audit = settings.audit && (await openAuditTrail(settings.audit, { clock, logger, metrics }));
  const client = new LocalClient({ registry, lister, table, absent, revisions, reader, clock, logger });
  const clients = new Clients({ ...settings, ...access, client, audit });
  const served = { ...handlers, ...shared, access, permissions, audit, reader, live: [health.lasting] };
  const listener: HttpListener = createListener(settings, served, secure?.certificate);
  const schemaWatch = new SchemaWatch({ store, clock, onNewer: (error) => health.report('write', error) });
  const quotas = new QuotaController({ registry, table, clock, logger });
  const controllers = { collector, namespaces, events, definitions, roles, quotas };
  const writing = { ...controllers, store, commits, compactor, follower, registry, health, schemaWatch };
  return { ...writing, permissions, ...shared, watches, schemes, admissions, clients, listener, secure, access, audit };
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

  /** `http://<host>:<port>`, or `https://…`. */
  get url(): string {
    return this.#parts.listener.url;
  }

  /**
   * PEM of the certificate that clients have to trust. undefined for plain HTTP, and when the given certificate chain
   * does not end with its certificate authority.
   */
  get ca(): string | undefined {
    return this.#parts.secure?.certificate.ca;
  }

  /** True when other servers can serve the same database: replicas. */
  get sharesDatabase(): boolean {
    return this.#parts.store.isShared;
  }

  /**
   * Resolves with an error when a newer version of this package has upgraded the database; otherwise it stays pending.
   * From then on nothing is written (503), `/readyz` and `/livez` report it, and the server should be stopped.
   */
  get outdated(): Promise<Error> {
    return this.#parts.health.outdated;
  }

  /** The registered kinds; registering a kind serves it. */
  get schemeManager(): SchemeManager {
    return this.#parts.schemes;
  }

  /** The endpoints of plugins (spec 4.3), in addition to the generated ones. */
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

  /** The client of the program that runs the server. Its writes count as the service's own. */
  get client(): Client {
    return this.#parts.clients.own;
  }

  /**
   * A client for a plugin in this process: labels that it writes need a prefix other than the service's (spec 2.5), and
   * its field manager is `plugin:<name>`. Its user is `system:plugin:<name>`, who may do what `permits` allows, and what roles
   * grant; without `permits`, everything.
   */
  createPluginClient(name: string, permits?: PluginPermits): PluginClient {
    return this.#parts.clients.ofPlugin(name, permits);
  }

  /**
   * Ends the watches, streams and exports of the selected users, as when their permissions are withdrawn: for users who
   * were deleted or disabled.
   */
  endSessionsOf(selects: (user: UserInfo) => boolean): void {
    this.#parts.permissions.endOf(selects);
  }

  /** The metrics that `GET /metrics` returns. Code in the same process may add its own. */
  get metrics(): Metrics {
    return this.#parts.metrics;
  }

  /** Resolves when a registered kind is indexed and served. Rejects with IndexBuildError, naming index, value and objects. */
  async whenReady(gvk: GroupVersionKind): Promise<void> {
    await this.#parts.table.whenReady(gvk);
  }

  /** The number of objects indexed so far, while a kind is being indexed. */
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

  /** True when no write is running, and garbage collection, namespaces, events, definitions and roles have nothing to do. */
  isIdle(): boolean {
    const { registry, commits, collector, namespaces, events, definitions, roles, quotas } = this.#parts;
    return [registry, commits, collector, namespaces, events, definitions, roles, quotas].every((part) =>
      part.isIdle(),
    );
  }

  /**
   * Refuses new requests (503), ends watches with a bookmark, cuts off an export, and resolves when the last running
   * request has its response. Controllers of this process may still write: stop them between this call and {@link
   * stop}.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Drains, finishes running work, and closes the database. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const { listener, secure, access, watches, copies, bodies, endpoints } = this.#parts;
    listener.refuse();
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
      definitions,
      roles,
      quotas,
      compactor,
      schemaWatch,
      commits,
      follower,
      store,
    } = this.#parts;
    await this.drain();
    const followed = definitions.stop();
    const collected = Promise.all([collector, namespaces, events, roles, quotas].map(async (each) => each.stop()));
    await Promise.all([compactor.stop(), schemaWatch.stop()]);
    // Pending writes wait for the follower, which may wait for a database that does not come back.
    await follower?.stop();
    await collected;
    await commits.close();
    // Controllers of this process write until then.
    await this.#parts.audit?.close();
    this.#stopMeasuring();
    await store.close();
    // A kind that is being opened may wait until then for changes that nothing reads any more.
    await followed;
  }
}
