import { randomUUID } from 'node:crypto';
import {
  ApiError,
  apiVersionOf,
  applyMergePatch,
  deepEqual,
  descriptorOf,
  formatKey,
  freezeDeep,
  keyOf,
  type ApiObject,
  type Model,
  type NewObject,
  type ObjectKey,
  type ObjectList,
  type ObjectMeta,
  type WatchEvent,
} from '../api/index.ts';
import type { Client, DeleteOptions, Patch, PatchOptions, StatusOf } from '../client/client.ts';
import { FakeInformer } from './fake-informer.test-support.ts';
import { kindIdOf, kindIdOfObject } from './definition/kind-id.ts';

interface Body extends ApiObject {
  readonly status?: unknown;
}

/** A request as one line, such as `patch persons/ada/status`. */
export type FakeRequest = string;

/**
 * A client of a fake server whose objects are in a map. It has the behaviour on which controllers depend:
 * `resourceVersion`, `version` and `generation` of the metadata, preconditions, and finalizers. A write that changes
 * nothing stores nothing. Informers receive each change after two turns of the event loop, so a change may arrive
 * before or after the response to its write.
 */
export class FakeClient implements Client {
  readonly requests: FakeRequest[] = [];
  /**
   * The number of turns of the event loop before the response to a write. An informer receives the event of the write
   * after two turns; after a call of its `hold`, it receives the event only after a call of its `release`.
   */
  answerTurns = 0;
  /** Called before each request is carried out. If it throws an error, the request rejects with that error. */
  intercept: (line: FakeRequest) => void | Promise<void> = () => {};
  readonly #objects = new Map<string, Body>();
  readonly #informers = new Map<string, FakeInformer>();
  #revision = 100;

  /** The requests for writes so far, including those that changed nothing or were refused. */
  get writes(): readonly FakeRequest[] {
    return this.requests.filter((line) => !line.startsWith('get '));
  }

  async get<T extends ApiObject>(model: Model<T>, name: string, options?: { readonly namespace?: string }): Promise<T> {
    const { plural } = descriptorOf(model);
    await this.#begin(`get ${plural}/${name}`);
    return this.#find(model, name, options?.namespace) as T;
  }

  async create<T extends ApiObject>(model: Model<T>, object: NewObject<T>): Promise<T> {
    const descriptor = descriptorOf(model);
    const name = object.metadata.name ?? '';
    await this.#begin(`create ${descriptor.plural}/${name}`);
    const id = idIn(
      model,
      object.metadata.namespace === undefined ? { name } : { namespace: object.metadata.namespace, name },
    );
    if (this.#objects.has(id)) throw new ApiError('AlreadyExists', `${descriptor.plural} "${name}" exists`);
    const metadata = {
      ...object.metadata,
      name,
      uid: randomUUID(),
      version: 0,
      generation: 1,
      creationTimestamp: '2030-01-01T00:00:00Z',
    } as ObjectMeta;
    const created = {
      ...object,
      apiVersion: apiVersionOf(descriptor),
      kind: descriptor.kind,
      metadata,
    } as unknown as Body;
    return this.#answer(this.#commit(created)) as Promise<T>;
  }

  async update<T extends ApiObject>(object: T): Promise<T> {
    await this.#begin(`update ${object.kind}/${object.metadata.name}`);
    const stored = this.#stored(kindIdOfObject(object), object);
    checkPreconditions(stored, object.metadata);
    const status = Reflect.get(object, 'status') === undefined ? { status: stored.status } : {};
    return this.#answer(this.#replace(stored, { ...object, ...status })) as Promise<T>;
  }

  async updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>): Promise<T> {
    await this.#begin(`updateStatus ${object.kind}/${object.metadata.name}`);
    const stored = this.#stored(kindIdOfObject(object), object);
    checkPreconditions(stored, object.metadata);
    return this.#answer(this.#replace(stored, { ...stored, status })) as Promise<T>;
  }

  async patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T> {
    const { plural } = descriptorOf(model);
    await this.#begin(`patch ${plural}/${name}${options?.subresource === 'status' ? '/status' : ''}`);
    if (patch.type !== 'merge') throw new ApiError('MethodNotAllowed', 'merge patches only');
    const stored = this.#find(model, name, options?.namespace);
    checkPreconditions(stored, options?.preconditions ?? {});
    const patched = applyMergePatch(stored, patch.patch) as Body;
    const { uid, ...revisions } = patched.metadata;
    checkPreconditions(stored, revisions);
    if (uid !== stored.metadata.uid) throw new ApiError('Invalid', `metadata.uid: ${uid}: field is immutable`);
    const next = options?.subresource === 'status' ? { ...stored, status: patched.status } : patched;
    return this.#answer(this.#replace(stored, next)) as Promise<T>;
  }

  async delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined> {
    const { plural } = descriptorOf(model);
    await this.#begin(`delete ${plural}/${name}`);
    const stored = this.#find(model, name, options?.namespace);
    checkPreconditions(stored, { ...stored.metadata, ...options?.preconditions });
    if ((stored.metadata.finalizers ?? []).length === 0) {
      this.#remove(stored);
      return this.#answer(undefined);
    }
    const { generation, deletionTimestamp = '2030-01-01T00:00:01Z' } = stored.metadata;
    const metadata = { ...stored.metadata, deletionTimestamp, generation: generation + 1 };
    return this.#answer(this.#commit({ ...stored, metadata })) as Promise<T>;
  }

  apply(): never {
    throw new Error('the fake client does not support this call');
  }

  ensure(): never {
    throw new Error('the fake client does not support this call');
  }

  list<T extends ApiObject>(): Promise<ObjectList<T>> {
    return Promise.reject(new Error('the fake client does not support this call'));
  }

  watch<T extends ApiObject>(): AsyncIterable<WatchEvent<T>> {
    throw new Error('the fake client does not support this call');
  }

  informer<T extends ApiObject>(model: Model<T>): FakeInformer<T> {
    const kindId = kindIdOf(descriptorOf(model));
    let informer = this.#informers.get(kindId);
    if (informer === undefined) {
      informer = new FakeInformer(() => ({
        objects: [...this.#objects.values()].filter((object) => kindIdOfObject(object) === kindId),
        revision: String(this.#revision),
      }));
      this.#informers.set(kindId, informer);
    }
    return informer as unknown as FakeInformer<T>;
  }

  /** Returns the stored object immediately, without a request. */
  peek<T extends ApiObject>(model: Model<T>, name: string, namespace?: string): T | undefined {
    return this.#objects.get(idIn(model, namespace === undefined ? { name } : { namespace, name })) as unknown as
      T | undefined;
  }

  async #begin(line: FakeRequest): Promise<void> {
    this.requests.push(line);
    await this.intercept(line);
  }

  async #answer<R>(result: R): Promise<R> {
    for (let turn = 0; turn < this.answerTurns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return result;
  }

  #find(model: Model, name: string, namespace: string | undefined): Body {
    const found = this.#objects.get(idIn(model, namespace === undefined ? { name } : { namespace, name }));
    if (found === undefined) throw new ApiError('NotFound', `${descriptorOf(model).plural} "${name}" not found`);
    return found;
  }

  #stored(kindId: string, object: ApiObject): Body {
    const found = this.#objects.get(`${kindId}/${formatKey(keyOf(object))}`);
    if (found === undefined) throw new ApiError('NotFound', `${object.kind} "${object.metadata.name}" not found`);
    return found;
  }

  #replace(stored: Body, next: Body): Body {
    const { metadata, status, ...rest } = next;
    const { metadata: storedMetadata, status: storedStatus, ...storedRest } = stored;
    const { uid, version, resourceVersion, creationTimestamp } = storedMetadata;
    const generation = storedMetadata.generation + Number(!deepEqual(rest, storedRest));
    const kept = { ...metadata, uid, version, resourceVersion, creationTimestamp, generation };
    if (deepEqual({ ...next, metadata: kept }, stored)) return stored;
    const isGone = kept.deletionTimestamp !== undefined && (kept.finalizers ?? []).length === 0;
    return isGone ? this.#remove({ ...next, metadata: kept }) : this.#commit({ ...next, metadata: kept });
  }

  #commit(object: Body): Body {
    const stored = this.#stamp(object);
    this.#objects.set(idOfObject(stored), stored);
    this.#informers.get(kindIdOfObject(stored))?.enqueue({ type: 'MODIFIED', object: stored });
    return stored;
  }

  #remove(object: Body): Body {
    const last = this.#stamp(object);
    this.#objects.delete(idOfObject(last));
    this.#informers.get(kindIdOfObject(last))?.enqueue({ type: 'DELETED', object: last });
    return last;
  }

  #stamp(object: Body): Body {
    this.#revision += 1;
    const { version } = object.metadata;
    const metadata = { ...object.metadata, version: version + 1, resourceVersion: String(this.#revision) };
    return freezeDeep(JSON.parse(JSON.stringify({ ...object, metadata })) as Body);
  }
}

function idIn(model: Model, key: ObjectKey): string {
  return `${kindIdOf(descriptorOf(model))}/${formatKey(key)}`;
}

function idOfObject(object: ApiObject): string {
  return `${kindIdOfObject(object)}/${formatKey(keyOf(object))}`;
}

function checkPreconditions(stored: ApiObject, sent: Partial<ObjectMeta>): void {
  for (const field of ['uid', 'version', 'resourceVersion'] as const) {
    if (sent[field] === undefined || sent[field] === stored.metadata[field]) continue;
    throw new ApiError('Conflict', `${stored.kind} "${stored.metadata.name}": ${field} is ${stored.metadata[field]}`);
  }
}
