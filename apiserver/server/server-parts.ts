import { Metrics } from '@homeostat/controller-runtime/telemetry';
import { AdmissionTable } from '../admission/admission-table.ts';
import { AssetTable } from '../assets/asset-table.ts';
import { openAuditTrail } from '../audit/audit-trail.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { RoleKeeper } from '../authorization/rbac/role-keeper.ts';
import type { MemoryLimit } from '../limits/memory-limit.ts';
import { openBuiltinKinds, strategyOf } from '../builtin/builtin-kinds.ts';
import { leaderRules } from '../builtin/lease-kind.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { LocalClient } from '../client/local-client.ts';
import { ObjectReader } from '../client/object-reader.ts';
import { EventExpiry } from '../controllers/event-expiry.ts';
import { RunExpiry } from '../controllers/run-expiry.ts';
import { GarbageCollector } from '../controllers/garbage-collector.ts';
import { UnservedDependents } from '../controllers/unserved-dependents.ts';
import { stuckObjects } from '../controllers/stuck-objects.ts';
import { NamespaceController } from '../controllers/namespace-controller.ts';
import { definitionJudge } from '../crd/definition-judge.ts';
import { policyJudge } from '../policies/policy-judge.ts';
import type { KindJudge } from '../registry/rules/kind-judge.ts';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { DefinitionController } from '../crd/definition-controller.ts';
import type { BodyCodec } from '../decode/body-codec.ts';
import type { EncryptedStore } from '../encryption/encrypted-store.ts';
import type { EndpointTable } from '../endpoints/serving/endpoint-table.ts';
import { RequestPermissions } from '../http/access/request-permissions.ts';
import type { KnownDependents } from '../http/objects/dependents-handler.ts';
import type { DebugPage } from '../http/pages/debug-page.ts';
import type { HealthCheck } from '../http/pages/health.ts';
import { PolicyStatusController } from '../policies/policy-status-controller.ts';
import { QuotaController } from '../quota/quota-controller.ts';
import { adoptGeneration } from '../registry/kinds/sync-unique-claims.ts';
import type { Compactor } from '../registry/history/compactor.ts';
import type { Follower } from '../registry/follow/follower.ts';
import { Lister } from '../registry/reads/lister.ts';
import { RecentWriters } from '../registry/history/revisions.ts';
import { ObjectHistory } from '../registry/reads/object-history.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { Registry } from '../registry/registry.ts';
import { ResourceTable } from '../registry/kinds/resource-table.ts';
import { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import type { StoredKind } from '../store/object-key.ts';
import type { GroupCommit } from '../store/group-commit.ts';
import type { Store } from '../store/store.ts';
import { openTls } from '../tls/open-tls.ts';
import type { SecureParts } from '../tls/open-tls.ts';
import { AbsentKinds } from './absent-kinds.ts';
import type { Settings } from './api-server-options.ts';
import { Clients } from '../client/clients.ts';
import { createAccess } from './create-access.ts';
import type { Access } from './create-access.ts';
import { conversionWebhooks, createWebhooks, quotaAdmission, reviews, writeRules } from './create-admission.ts';
import type { Webhooks } from './create-admission.ts';
import { createEndpoints } from './create-endpoints.ts';
import { createCopies, createHandlers, createListener } from './create-handlers.ts';
import { DatabaseHealth } from './database-health.ts';
import type { HttpListener } from './http-listener.ts';
import { openStorage } from './open-storage.ts';
import type { OpenedStorage } from './open-storage.ts';
import { homeostatVersion } from '../http/pages/version.ts';
import { SnapshotKeeper } from '../registry/kept/snapshot-keeper.ts';
import { ValueKeeper } from '../registry/kept/value-keeper.ts';
import { SchemaWatch } from './schema-watch.ts';
import { sampleServer } from './server-metrics.ts';

/**
 * A part of the server that handles requests. This interface is used instead of the part's class, because the class
 * uses `@types/koa`, on which the published package does not depend.
 */
interface Closable {
  close(): void;
}

/**
 * The part of the server that ends open requests. This interface is used instead of the part's class, because the class
 * uses `@types/koa`, on which the published package does not depend.
 */
interface OpenRequests {
  endOf(selects: (user: UserInfo) => boolean): void;
}

/** The parts of a server, which are connected to each other. */
export interface Parts {
  readonly store: EncryptedStore;
  readonly commits: GroupCommit;
  readonly compactor: Compactor;
  readonly memory: MemoryLimit;
  readonly keeper: ValueKeeper;
  /** Reads the changes of other processes; undefined when no other process writes to the database. */
  readonly follower: Follower | undefined;
  readonly collector: GarbageCollector;
  readonly namespaces: NamespaceController;
  readonly quotas: QuotaController;
  readonly policies: PolicyStatusController;
  readonly events: EventExpiry;
  readonly runs: RunExpiry;
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
  readonly webhooks: Webhooks;
  readonly clients: Clients;
  readonly permissions: OpenRequests;
  readonly metrics: Metrics;
  readonly listener: HttpListener;
  /** The server's certificate and its renewal; undefined without TLS. */
  readonly secure: SecureParts | undefined;
  readonly access: Access;
  /** The log of requests; undefined when requests are not audited. */
  readonly audit: AuditTrail | undefined;
  /** The checks of `/readyz`, the debug pages and the static files. More of them can be added while the server runs. */
  readonly added: { readonly ready: HealthCheck[]; readonly debug: DebugPage[]; readonly assets: AssetTable };
}

/**
 * Opens the built-in kinds and the kinds of the stored definitions, listens, and starts the parts that run in the
 * background.
 */
export async function beginServing(parts: Parts, settings: Settings): Promise<void> {
  await openBuiltinKinds({ ...parts, ...settings });
  await parts.roles.open();
  await parts.access.administrator?.open();
  await parts.definitions.open();
  await parts.absent.open();
  await parts.listener.listen(settings);
  parts.compactor.start();
  parts.memory.start();
  parts.keeper.start();
  parts.follower?.start();
  if (parts.store.isShared) parts.schemaWatch.start();
  parts.secure?.renewal.start(parts.secure.certificate);
  for (const followed of parts.access.followed) followed.start();
  await parts.namespaces.ensureDefault();
  parts.definitions.start();
  parts.policies.start();
}

/** Creates the parts of a server, and connects them. Opens the store, but starts no other part. */
export async function wireServer(settings: Settings, store: EncryptedStore): Promise<Parts> {
  const { clock, logger, random, serviceDomain } = settings;
  const health = new DatabaseHealth(clock);
  const metrics = new Metrics();
  const kinds: { table?: ResourceTable } = {};
  const storage = await openStorage({ ...settings, store, health, metrics, table: () => kinds.table });
  const { revisions, commits, follower, compactor, memory, epoch, vault } = storage;
  const schemes = new SchemeManager({ serviceDomain });
  const endpoints = createEndpoints(settings, schemes);
  const { table, keeper } = createTable(settings, { ...storage, store, schemes });
  kinds.table = table;
  const admissions = new AdmissionTable({ lookup: (gvk) => schemes.lookup(gvk) });
  schemes.on('unregistered', ({ descriptor }) => admissions.forgetKind(descriptor));
  const access = await createAccess(settings, { vault, table, revisions, isShared: store.isShared });
  const webhooks = createWebhooks(settings);
  const writers = new RecentWriters();
  const registry = createRegistry(settings, {
    ...storage,
    ...access,
    memory,
    writers,
    store,
    table,
    admissions,
    webhooks,
    metrics,
  });
  const lister = new Lister({ revisions, epoch });
  const permissions = new RequestPermissions({ ...access, clock });
  const history = new ObjectHistory({ revisions, writers });
  const isEncrypted = (resource: Resource): boolean => store.encrypts(resource.model);
  const dependents = dependentsOf(() => controllers.collector);
  const handled = { registry, lister, revisions, permissions, table, history, isEncrypted, dependents };
  const handlers = createHandlers(settings, { ...access, ...handled });
  const { watches } = handlers;
  table.on('closed', (resource) => watches.closeKind(resource));
  sampleServer(metrics, { table, watches, memory });
  const reader = new ObjectReader();
  const working = { store, schemes, table, registry, webhooks, reader };
  const controllers: Controllers = createControllers(settings, { ...access, ...storage, ...working });
  const awaited = [settings.awaitedKind, (kind: StoredKind) => controllers.definitions.awaited(kind)];
  const absent = new AbsentKinds({ store, schemes, table, awaited });
  const added = addedParts(settings, { health, table });
  const copies = createCopies(settings, { store, storage, table, permissions });
  const secure = await openTls(settings, (certificate) => listener.showKeyPair(certificate));
  const shared = { table, absent, copies, bodies: handlers.bodies, endpoints, metrics, added };
  const audit = settings.audit && (await openAuditTrail(settings.audit, { clock, logger, metrics }));
  const client = new LocalClient({ registry, lister, table, absent, revisions, reader, clock, logger, random });
  const clients = new Clients({ ...settings, ...access, client, audit });
  const served = { ...handlers, ...shared, access, permissions, audit, reader, live: [health.lasting] };
  const listener: HttpListener = createListener(settings, served, secure?.certificate);
  const schemaWatch = new SchemaWatch({ store, clock, onNewer: (error) => health.report('write', error) });
  const writing = { ...controllers, store, memory, commits, compactor, follower, registry, health, schemaWatch };
  const guarding = { permissions, access, admissions, webhooks, audit, secure };
  return { ...writing, ...shared, ...guarding, keeper, watches, schemes, clients, listener };
}

/**
 * The versions of this package and of Node.js, which stored index values and snapshots depend on. The server does not
 * use values and snapshots that a program with other versions has stored.
 */
const program = `homeostat ${homeostatVersion}, node ${process.version}`;

/** Creates the table of the served kinds, and the part that stores the values of their indexes. */
function createTable(
  settings: Settings,
  parts: Pick<OpenedStorage, 'log' | 'revisions' | 'memory'> & Pick<Parts, 'store' | 'schemes'>,
): Pick<Parts, 'table' | 'keeper'> {
  const { serviceDomain, clock, logger, random } = settings;
  const { log, revisions, memory, store, schemes } = parts;
  const definitions = definitionJudge(serviceDomain);
  const judgeOf = (model: ModelDescriptor): KindJudge | undefined => definitions(model) ?? policyJudge(model);
  const snapshots = createSnapshots(settings, parts);
  const keeper = new ValueKeeper({
    store: store.kept,
    snapshots,
    clock,
    logger,
    program,
    served: () => table.served(),
    revision: () => revisions.current,
  });
  const opening = { log, revisions, memory, keeper, snapshots, random, strategyOf, judgeOf };
  const table: ResourceTable = new ResourceTable({ ...opening, schemes, store, logger });
  table.on('closed', (resource) => keeper.close(resource));
  return { table, keeper };
}

function createSnapshots(
  { clock, logger, uuid }: Settings,
  { log, store }: Pick<OpenedStorage, 'log'> & Pick<Parts, 'store'>,
): SnapshotKeeper | undefined {
  const files = store.snapshots;
  const isEncrypted = (kind: StoredKind): boolean => store.encrypts(kind);
  const floorOf = (kindNumber: number): number => log.floorOf(kindNumber);
  return files && new SnapshotKeeper({ files, store, clock, logger, uuid, program, isEncrypted, floorOf });
}

/**
 * Returns functions that get the dependents of objects from the garbage collector. The collector is passed as a
 * function, because it is created later than the parts that use it.
 */
function dependentsOf(collector: () => GarbageCollector): KnownDependents {
  return { areComplete: () => collector().knowsAll, of: (uid) => collector().dependentsOf(uid) };
}

function addedParts(
  { clock, readyChecks }: Settings,
  { health, table }: { readonly health: HealthCheck; readonly table: ResourceTable },
): Parts['added'] {
  const index = (): Promise<object> => stuckObjects({ table, nowMs: clock.now() });
  const stuck: DebugPage = { name: 'stuck', index, item: () => undefined };
  return { ready: [health, ...readyChecks], debug: [stuck], assets: new AssetTable() };
}

/** Creates the registry with the rules of this server. */
function createRegistry(
  settings: Settings,
  parts: Pick<OpenedStorage, 'commits' | 'revisions' | 'memory' | 'vault'> &
    Pick<Parts, 'table' | 'admissions' | 'webhooks' | 'metrics'> &
    Pick<Access, 'authorizer'> & { readonly store: Store; readonly writers: RecentWriters },
): Registry {
  const { store, table, authorizer, memory, admissions, commits, revisions, vault, writers } = parts;
  const registry: Registry = new Registry({
    ...settings,
    ...writeRules(settings, { table, authorizer, vault, isShared: store.isShared }),
    leaders: leaderRules(table),
    hooks: admissions,
    review: reviews(settings, parts),
    reserve: quotaAdmission(settings, { table, isShared: store.isShared, registry: () => registry }),
    commits,
    revisions,
    memory,
    writers,
    onOldGeneration: (resource) => adoptGeneration(resource, store),
  });
  return registry;
}

type Controllers = Pick<
  Parts,
  'collector' | 'namespaces' | 'events' | 'runs' | 'definitions' | 'roles' | 'quotas' | 'policies'
>;

/** Creates the controllers, which change stored objects without a request. */
function createControllers(
  settings: Settings,
  parts: Pick<OpenedStorage, 'log' | 'revisions' | 'vault'> &
    Pick<Parts, 'schemes' | 'table' | 'registry' | 'webhooks'> &
    Pick<Access, 'authorizer'> & { readonly store: Store; readonly reader: ObjectReader },
): Controllers {
  const { clock, logger } = settings;
  const { store, log, vault, registry, table, reader } = parts;
  const parsed = reader.parsed.bind(reader);
  const working = { ...parts, clock, logger };
  const unserved = new UnservedDependents({ store, table, log, hidden: vault.kindNumber });
  return {
    collector: new GarbageCollector({ ...working, unserved, parsed }),
    namespaces: new NamespaceController(working),
    events: new EventExpiry({ ...settings, registry, table }),
    runs: new RunExpiry({ clock, logger, registry, table }),
    definitions: new DefinitionController({ ...working, converterOf: conversionWebhooks(settings, parts.webhooks) }),
    roles: new RoleKeeper(working),
    quotas: new QuotaController(working),
    policies: new PolicyStatusController(working),
  };
}
