import { ensureObject, ForwardingClient } from '@homeostat/controller-runtime';
import type {
  AnyWriteOptions,
  AppliedObject,
  ApplyOptions,
  Desired,
  WriteCall,
  WriteOptions,
} from '@homeostat/controller-runtime';
import { descriptorOf, keyOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldCause, Model, ModelDescriptor, ObjectKey } from '@homeostat/controller-runtime/api';
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
  /** The guard that decides about calls; absent for a client that may do everything. */
  readonly guard?: ClientGuard | undefined;
}

/** A write, as its audit entry shows it. */
interface Write extends GuardedCall {
  readonly options: WriteOptions;
  /** The body that the same request would have over HTTP. */
  readonly sent?: unknown;
}

/**
 * A client in the server's process whose writes are recorded in the audit log. Its reads are served from memory, and
 * are not recorded.
 */
export class AuditedClient extends ForwardingClient implements PluginClient {
  readonly #parts: AuditedClientParts;
  readonly #client: LocalClient;

  constructor(parts: AuditedClientParts) {
    super(parts.client);
    this.#parts = parts;
    this.#client = parts.client;
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
    const written = await this.#run(descriptorOf(model), writeOf({ verb: 'apply', model, object }, options), write);
    return { object: written, contested };
  }

  override ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    return ensureObject(this, model, { key, desired, options });
  }

  protected override async write<O extends AnyWriteOptions | undefined, R extends ApiObject | undefined>(
    call: WriteCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    const model = 'model' in call ? descriptorOf(call.model) : await this.#client.modelOf(call.object);
    return this.#run(model, writeOf(call, options), () => send(options));
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
      // For a creation, the name in the entry comes from the created object, as in the entries of requests over HTTP.
      attributes: call.verb === 'create' ? { ...attributes, name: undefined } : attributes,
      decision: guard?.decide(attributes),
      uri: uriOf(model, call, options),
      code: call.verb === 'create' ? 201 : 200,
      ...(sent === undefined ? {} : { body: () => bodyOf(sent) }),
    };
    return auditor.run(audited, write);
  }
}

function writeOf(call: WriteCall, options: AnyWriteOptions = {}): Write {
  switch (call.verb) {
    case 'create': {
      const { name, namespace } = call.object.metadata;
      return { verb: 'create', name, namespace: options.namespace ?? namespace, options, sent: call.object };
    }
    case 'update':
      return { verb: 'update', ...keyOf(call.object), options, sent: call.object };
    case 'updateStatus': {
      const sent = { ...call.object, status: call.status };
      return { verb: 'update', ...keyOf(call.object), subresource: 'status', options, sent };
    }
    case 'patch': {
      const sent = call.patch.type === 'json' ? call.patch.operations : call.patch.patch;
      const { namespace, subresource } = options;
      return { verb: 'patch', name: call.name, namespace, subresource, options, sent };
    }
    case 'apply': {
      const { name, namespace = options.namespace } = call.object.metadata;
      return { verb: 'patch', name, namespace, subresource: options.subresource, options, sent: call.object };
    }
    case 'delete':
      return { verb: 'delete', name: call.name, namespace: options.namespace, options };
    case 'ensure':
      throw new Error('the method ensure is not a single request: it sends other requests');
  }
}

/** Returns the URI that the same request would have over HTTP. */
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

/**
 * Returns the body as a JSON value; undefined for a body that is too large for an entry, or that cannot be written as
 * JSON.
 */
function bodyOf(sent: unknown): unknown {
  try {
    const { value, bytes } = measuredCopy(sent, objectLimits);
    return bytes > maxBodyLength ? undefined : value;
  } catch {
    return undefined;
  }
}
