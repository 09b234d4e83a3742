import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { EncryptedStore } from '../encryption/encrypted-store.ts';
import type { RequestPermissions } from '../http/access/request-permissions.ts';
import { BackupHandler } from '../http/objects/backup-handler.ts';
import { ExportHandler } from '../http/objects/export-handler.ts';
import { ReencryptHandler } from '../http/objects/reencrypt-handler.ts';
import { rewriteObjects } from '../registry/follow/rewrite-objects.ts';
import type { OpenedStorage } from './open-storage.ts';
import { BodyCodec } from '../decode/body-codec.ts';
import { Fairness } from '../fairness/fairness.ts';
import type { ObjectReader } from '../client/object-reader.ts';
import { createApp } from '../http/app.ts';
import type { AppParts } from '../http/app.ts';
import { apiServiceKind } from '../builtin/service-kind.ts';
import { ApiServiceHandler } from '../http/objects/api-service-handler.ts';
import { ReviewHandler } from '../http/objects/review-handler.ts';
import { AnswerMemory } from '../http/response/answer-memory.ts';
import { ResourceHandler } from '../http/objects/resource-handler.ts';
import type { ResourceHandlerParts } from '../http/objects/resource-handler.ts';
import { TrustedProxies } from '../http/request/trusted-proxies.ts';
import { WatchHandler } from '../http/watch/watch-handler.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { reviewKinds } from '../reviews/review-kinds.ts';
import type { AbsentKinds } from './absent-kinds.ts';
import type { Settings } from './api-server-options.ts';
import type { Access } from './create-access.ts';
import { ConnectionTable } from './connection-table.ts';
import type { ConnectionLimits } from './connection-table.ts';
import { HttpListener } from './http-listener.ts';
import type { KeyPair } from './http-listener.ts';

export interface Handlers {
  readonly watches: WatchHandler;
  readonly resources: ResourceHandler;
  readonly memory: AnswerMemory;
  readonly proxies: TrustedProxies;
  readonly bodies: BodyCodec;
}

/** Creates the handlers of requests for objects, and the parts that these handlers share. */
export function createHandlers(
  settings: Settings,
  parts: Pick<
    ResourceHandlerParts,
    | 'registry'
    | 'lister'
    | 'permissions'
    | 'accountIssuer'
    | 'people'
    | 'table'
    | 'history'
    | 'isEncrypted'
    | 'dependents'
  > & {
    readonly revisions: Revisions;
  },
): Handlers {
  const { clock, maxAnswerBytes, trustedProxies } = settings;
  const proxies = new TrustedProxies(trustedProxies);
  const memory = new AnswerMemory(maxAnswerBytes, proxies);
  const watches = new WatchHandler({ ...settings, ...parts, proxies });
  const bodies = new BodyCodec(clock);
  const resources = new ResourceHandler({ ...parts, watches, bodies, memory, clock });
  return { watches, resources, memory, proxies, bodies };
}

type ServedParts = 'resources' | 'memory' | 'proxies' | 'bodies' | 'endpoints' | 'metrics' | 'live' | 'permissions';

/** The parts of a server with which the HTTP listener of {@link createListener} responds to requests. */
export interface Served extends Pick<AppParts, ServedParts | 'audit'> {
  readonly table: ResourceTable;
  readonly absent: AbsentKinds;
  readonly reader: ObjectReader;
  readonly access: Access;
  readonly copies: Copies;
  readonly added: Pick<AppParts, 'ready' | 'debug' | 'assets'>;
}

/** Returns the listener of a server. It does not listen yet. */
export function createListener(settings: Settings, served: Served, keyPair: KeyPair | undefined): HttpListener {
  const { host, hostNames, clock, logger, uuid } = settings;
  const { bodies, table, absent, reader, added, access } = served;
  const connections = new ConnectionTable(limitsOf(settings, served.proxies));
  const models = (): readonly ModelDescriptor[] => [...table.models(), ...reviewKinds, apiServiceKind];
  return new HttpListener(
    createApp({
      ...served,
      ...served.copies,
      reviews: new ReviewHandler(access, bodies),
      refusalOf: (kind) => absent.refusalOf(kind),
      models,
      apiServices: new ApiServiceHandler({ models, sinceMs: clock.now() }),
      ...added,
      storedBytes: (object) => reader.bytesOf(object),
      fairness: new Fairness({ clock, metrics: served.metrics }),
      connections,
      hostNames: [host, ...hostNames],
      serviceDomain: settings.serviceDomain,
      gatherMetrics: settings.gatherMetrics,
      ...access,
      clock,
      logger,
      uuid,
    }),
    { keyPair, clock, connections },
  );
}

function limitsOf(settings: Settings, proxies: TrustedProxies): Partial<ConnectionLimits> {
  const { maxConnections, maxUnknownConnectionsPerAddress } = settings;
  return {
    ...(maxConnections === undefined ? {} : { maxConnections }),
    maxUnknownPerAddress: maxUnknownConnectionsPerAddress,
    isProxy: (address) => proxies.has(address),
  };
}

/** The handlers of requests that read or write all objects of the database. */
export interface Copies {
  readonly exports: ExportHandler;
  readonly backups: BackupHandler;
  readonly reencryption: ReencryptHandler;
  /** Aborts the requests that these handlers are still handling. */
  readonly close: () => void;
}

interface CopyParts {
  readonly store: EncryptedStore;
  readonly storage: OpenedStorage;
  readonly table: ResourceTable;
  readonly permissions: RequestPermissions;
}

export function createCopies(
  { clock, logger }: Pick<Settings, 'clock' | 'logger'>,
  { store, storage, table, permissions }: CopyParts,
): Copies {
  const { log, vault, revisions, commits, epoch } = storage;
  const memory = { table: () => table, log, hidden: vault, revisions, logger };
  const exports = new ExportHandler({ store, stored: store.stored, epoch, clock, logger, permissions });
  const backups = new BackupHandler({ stored: store.stored, logger, permissions });
  const reencryption = new ReencryptHandler({
    rewrite: () => rewriteObjects({ ...memory, commits, outdated: () => store.outdated() }),
    clock,
    logger,
    permissions,
  });
  const close = (): void => {
    exports.close();
    backups.close();
    reencryption.close();
  };
  return { exports, backups, reencryption, close };
}
