import { ensureObject } from '@homeostat/controller-runtime';
import type {
  AppliedObject,
  ApplyOptions,
  DeleteOptions,
  Desired,
  GetOptions,
  Informer,
  InformerOptions,
  ListOptions,
  Patch,
  PatchOptions,
  StatusOf,
  WatchOptions,
  WriteOptions,
} from '@homeostat/controller-runtime';
import { descriptorOf, keyOf } from '@homeostat/controller-runtime/api';
import type {
  ApiObject,
  FieldCause,
  Model,
  ModelDescriptor,
  NewObject,
  ObjectKey,
  ObjectList,
  WatchEvent,
} from '@homeostat/controller-runtime/api';
import type { CallAuditor } from '../audit/call-auditor.ts';
import { maxBodyLength } from '../audit/recorded-json.ts';
import { recordedUri } from '../audit/secret-bodies.ts';
import { measuredCopy } from '../decode/json-copy.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { objectLimits } from '../limits/body-limits.ts';
import { attributesOf } from './client-guard.ts';
import type { ClientGuard, GuardedCall } from './client-guard.ts';
import type { LocalClient, PluginClient, UncontestedApply } from './local-client.ts';

export interface AuditedClientParts {
  readonly client: LocalClient;
  readonly auditor: CallAuditor;
  readonly user: UserInfo;
  /** Absent: the client may do everything. */
  readonly guard?: ClientGuard | undefined;
}

/** A write, as its entry shows it. */
interface Write extends GuardedCall {
  readonly options: WriteOptions;
  /** What is sent. */
  readonly sent?: unknown;
}

/** Records the writes of a client in the server's process. Its reads are served from memory, and are not recorded. */
export class AuditedClient implements PluginClient {
  readonly #parts: AuditedClientParts;
  readonly #client: LocalClient;

  constructor(parts: AuditedClientParts) {
    this.#parts = parts;
    this.#client = parts.client;
  }

  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T> {
    return this.#client.get(model, name, options);
  }

  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#client.list(model, options);
  }

  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    return this.#client.watch(model, options);
  }

  informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T> {
    return this.#client.informer(model, options);
  }

  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options: WriteOptions = {}): Promise<T> {
    const namespace = options.namespace ?? object.metadata.namespace;
    const write = { verb: 'create', name: object.metadata.name, namespace, options, sent: object };
    return this.#run(descriptorOf(model), write, () => this.#client.create(model, object, options));
  }

  async update<T extends ApiObject>(object: T, options: WriteOptions = {}): Promise<T> {
    const write = { verb: 'update', ...keyOf(object), options, sent: object };
    return this.#run(await this.#client.modelOf(object), write, () => this.#client.update(object, options));
  }

  async updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options: WriteOptions = {}): Promise<T> {
    const sent = { ...object, status };
    const write = { verb: 'update', ...keyOf(object), subresource: 'status', options, sent };
    const model = await this.#client.modelOf(object);
    return this.#run(model, write, () => this.#client.updateStatus(object, status, options));
  }

  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options: PatchOptions = {}): Promise<T> {
    const { namespace, subresource } = options;
    const sent = patch.type === 'json' ? patch.operations : patch.patch;
    const write = { verb: 'patch', name, namespace, subresource, options, sent };
    return this.#run(descriptorOf(model), write, () => this.#client.patch(model, name, patch, options));
  }

  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    return this.#run(descriptorOf(model), applied(object, options), () => this.#client.apply(model, object, options));
  }

  async applyUncontested<T extends ApiObject>(
    model: Model<T>,
    object: AppliedObject<T>,
    options: ApplyOptions,
  ): Promise<UncontestedApply<T>> {
    let contested: readonly FieldCause[] = [];
    const write = async (): Promise<T> => {
      const found = await this.#client.applyUncontested(model, object, options);
      contested = found.contested;
      return found.object;
    };
    const written = await this.#run(descriptorOf(model), applied(object, options), write);
    return { object: written, contested };
  }

  delete<T extends ApiObject>(model: Model<T>, name: string, options: DeleteOptions = {}): Promise<T | undefined> {
    const write = { verb: 'delete', name, namespace: options.namespace, options };
    return this.#run(descriptorOf(model), write, () => this.#client.delete(model, name, options));
  }

  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    return ensureObject(this, model, { key, desired, options });
  }

  #run<R extends object | undefined>(
    model: ModelDescriptor,
    { options, sent, ...call }: Write,
    write: () => Promise<R>,
  ): Promise<R> {
    const { auditor, user, guard } = this.#parts;
    const attributes = attributesOf(model, call);
    const audited = {
      user,
      // As in the entries of requests, a creation has its name from the object that came of it.
      attributes: call.verb === 'create' ? { ...attributes, name: undefined } : attributes,
      decision: guard?.decide(attributes),
      uri: uriOf(model, call, options),
      code: call.verb === 'create' ? 201 : 200,
      ...(sent === undefined ? {} : { body: () => bodyOf(sent) }),
    };
    return auditor.run(audited, write);
  }
}

function applied<T extends ApiObject>(object: AppliedObject<T>, options: ApplyOptions): Write {
  const { name, namespace = options.namespace } = object.metadata;
  return { verb: 'patch', name, namespace, subresource: options.subresource, options, sent: object };
}

/** Returns the URI of the same request over HTTP. */
function uriOf(
  { group, version, plural }: ModelDescriptor,
  { verb, name, namespace, subresource }: GuardedCall,
  { dryRun, fieldManager }: WriteOptions,
): string {
  const base = group === '' ? ['api', version] : ['apis', group, version];
  const scope = namespace === undefined ? [] : ['namespaces', namespace];
  const named = verb === 'create' || name === undefined ? [] : [name];
  const parts = [...base, ...scope, plural, ...named, ...(subresource === undefined ? [] : [subresource])];
  const query = new URLSearchParams({
    ...(dryRun === true ? { dryRun: 'All' } : {}),
    ...(fieldManager === undefined ? {} : { fieldManager }),
  });
  return recordedUri(`/${parts.map(encodeURIComponent).join('/')}`, query.toString());
}

/** Returns a body as JSON; undefined for one that is too large for an entry, or is no JSON. */
function bodyOf(sent: unknown): unknown {
  try {
    const { value, bytes } = measuredCopy(sent, objectLimits);
    return bytes > maxBodyLength ? undefined : value;
  } catch {
    return undefined;
  }
}
