import {
  freezeDeep,
  ApiError,
  apiVersionOf,
  formatLeaderEpoch,
  formatPreconditions,
  isApiError,
  isInvalid,
  leaderHeader,
  preconditionsHeader,
  isJsonObject,
} from '../../api/index.ts';
import type { ApiObject, Model, NewObject, ObjectKey, ObjectList, Preconditions, WatchEvent } from '../../api/index.ts';
import type {
  AppliedObject,
  ApplyOptions,
  Client,
  DeleteOptions,
  Desired,
  GetOptions,
  ListOptions,
  Patch,
  PatchOptions,
  StatusOf,
  WatchOptions,
  WriteOptions,
} from '../client.ts';
import { ensureObject } from '../ensure.ts';
import type { HttpReads } from './http-reads.ts';
import type { HttpRequest, HttpTransport } from './http-transport.ts';
import { ModelResolver } from './model-resolver.ts';
import { applyQuery, getQuery, writeQuery } from './query.ts';
import { creationPath, objectPath } from './resource-path.ts';

export interface HttpClientParts {
  readonly transport: HttpTransport;
  readonly reads: HttpReads;
  /** Models that the caller knows, so that their kinds need no discovery. */
  readonly models: readonly Model[];
  /** Makes the informers that {@link Client.informer} returns. */
  readonly informer: Client['informer'];
}

/** A Client over HTTP. */
export class HttpClient implements Client {
  readonly informer: Client['informer'];
  readonly #transport: HttpTransport;
  readonly #reads: HttpReads;
  readonly #models: ModelResolver;

  constructor({ transport, reads, models, informer }: HttpClientParts) {
    this.informer = informer;
    this.#transport = transport;
    this.#reads = reads;
    this.#models = new ModelResolver(transport);
    for (const model of models) this.#models.remember(model);
  }

  async get<T extends ApiObject>(model: Model<T>, name: string, options: GetOptions = {}): Promise<T> {
    const path = objectPath(this.#models.remember(model), { name, namespace: options.namespace });
    return this.#send({ method: 'GET', path, query: getQuery(options), signal: options.signal });
  }

  async list<T extends ApiObject>(model: Model<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    this.#models.remember(model);
    return this.#reads.list(model, options);
  }

  async create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options: WriteOptions = {}): Promise<T> {
    const descriptor = this.#models.remember(model);
    const path = creationPath(descriptor, options.namespace ?? object.metadata.namespace);
    const body = { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind, ...object };
    return this.#send({ method: 'POST', path, body, ...writeParts(options) });
  }

  async update<T extends ApiObject>(object: T, options: WriteOptions = {}): Promise<T> {
    return this.#put(object, { body: object, options });
  }

  async updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options: WriteOptions = {}): Promise<T> {
    const { apiVersion, kind } = object;
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const body = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
    return this.#put(object, { body, options, subresource: 'status' });
  }

  async patch<T extends ApiObject>(
    model: Model<T>,
    name: string,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const { namespace, subresource } = options;
    const preconditions = givenOf(options.preconditions);
    const path = objectPath(this.#models.remember(model), { name, namespace, subresource });
    const contentType = `application/${patch.type}-patch+json`;
    const { headers, ...parts } = writeParts(options);
    const body = patchBody(patch, preconditions);
    try {
      const all = { ...headers, ...preconditionHeaders(preconditions) };
      return await this.#send({ method: 'PATCH', path, body, contentType, ...parts, headers: all });
    } catch (error) {
      throw preconditions.uid === undefined ? error : conflictOfUid(error);
    }
  }

  async apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    const descriptor = this.#models.remember(model);
    const { name, namespace = options.namespace } = object.metadata;
    const path = objectPath(descriptor, { name, namespace, subresource: options.subresource });
    const body = { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind, ...(object as object) };
    const contentType = 'application/apply-patch+yaml';
    return this.#send({ method: 'PATCH', path, body, contentType, ...writeParts(options), query: applyQuery(options) });
  }

  async delete<T extends ApiObject>(
    model: Model<T>,
    name: string,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const { namespace, dryRun, preconditions, propagationPolicy } = options;
    const path = objectPath(this.#models.remember(model), { name, namespace });
    // The options are in the body as well as in the query, because Kubernetes ignores the query of a DELETE that has a
    // body.
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions,
      propagationPolicy,
      ...(dryRun === true ? { dryRun: ['All'] } : {}),
    };
    const answer = await this.#send<ApiObject>({ method: 'DELETE', path, body, ...writeParts(options) });
    return answer.kind === 'Status' && answer.apiVersion === 'v1' ? undefined : (answer as T);
  }

  async ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    return ensureObject(this, model, { key, desired, options });
  }

  watch<T extends ApiObject>(model: Model<T>, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    this.#models.remember(model);
    return this.#reads.watch(model, options);
  }

  async #put<T extends ApiObject>(object: T, request: PutRequest): Promise<T> {
    const { body, options, subresource } = request;
    const resource = await this.#models.resolve(object, options.signal);
    const { name, namespace = options.namespace } = object.metadata;
    const path = objectPath(resource, { name, namespace, subresource });
    return this.#send({ method: 'PUT', path, body, ...writeParts(options) });
  }

  async #send<A extends object>(request: HttpRequest): Promise<A> {
    return freezeDeep((await this.#transport.send(request)) as A);
  }
}

interface PutRequest {
  readonly body: object;
  readonly options: WriteOptions;
  readonly subresource?: 'status';
}

/**
 * Returns the preconditions without undefined members: callers in JavaScript pass `{ uid: undefined }` when they do not
 * know the uid.
 */
function givenOf(preconditions: Preconditions = {}): Preconditions {
  return Object.fromEntries(Object.entries(preconditions).filter(([, value]) => value !== undefined));
}

function preconditionHeaders(preconditions: Preconditions): Readonly<Record<string, string>> {
  const text = formatPreconditions(preconditions);
  return text === '' ? {} : { [preconditionsHeader]: text };
}

/**
 * Returns the body of a patch. A merge patch contains the preconditions in its metadata, too, because only Homeostat's
 * server reads the header of the preconditions.
 */
function patchBody(patch: Patch, preconditions: Preconditions): object {
  if (patch.type === 'json') return patch.operations;
  const metadata: unknown = Reflect.get(patch.patch, 'metadata');
  if (Object.keys(preconditions).length === 0) return patch.patch;
  return { ...patch.patch, metadata: { ...(isJsonObject(metadata) ? metadata : {}), ...preconditions } };
}

/**
 * When a patch contains the uid of another object, kube-apiserver refuses it as a change of an immutable field (422).
 * This function converts that error to a Conflict, and returns any other error unchanged.
 */
function conflictOfUid(error: unknown): unknown {
  if (!isApiError(error) || !isInvalid(error)) return error;
  const { message, causes, details } = error;
  if (causes.length !== 1 || causes[0]?.field !== 'metadata.uid') return error;
  return new ApiError('Conflict', message, { details, cause: error });
}

/** Returns the query, the signal and the headers for the options of a write. */
function writeParts({ leader, ...options }: WriteOptions): Pick<HttpRequest, 'query' | 'signal' | 'headers'> {
  const headers = leader === undefined ? {} : { headers: { [leaderHeader]: formatLeaderEpoch(leader) } };
  return { query: writeQuery(options), signal: options.signal, ...headers };
}
