import type { Clock, ObjectKey, Status } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { isReadOnly } from '../builtin/service-kind.ts';
import { deleteEntries } from '../registry/delete-entries.ts';
import type { Registry, WriteOptions } from '../registry/registry.ts';
import { isHidden } from '../registry/write-result.ts';
import type { WriteResult } from '../registry/write-result.ts';
import type { Lister } from '../registry/lister.ts';
import type { ListPage } from '../registry/list-page.ts';
import type { Resource } from '../registry/resource.ts';
import type { ObjectView } from '../views/object-view.ts';
import type { Format } from './accept.ts';
import type { AnswerMemory } from './answer-memory.ts';
import { readApplyOptions, readDeleteOptions, readWriteOptions } from './write-options.ts';
import { readListOptions } from './list-options.ts';
import { listPieces, sendStoredList } from './list-stream.ts';
import { messageOf } from '../protobuf/object-messages.ts';
import { methodNotAllowed, pathNotFound } from './path-errors.ts';
import { readAppliedBody, readObjectBody } from './object-body.ts';
import { applyType, patchTypes, readPatch } from './patch-body.ts';
import { firstOf } from './query.ts';
import { mediaTypeOf } from './request-body.ts';
import { isWatchRequest } from './request-verb.ts';
import { readView } from './requested-view.ts';
import type { ResourcePath } from './resource-path.ts';
import { typedBody } from './typed-body.ts';
import { subresourcesOf, verbsOf } from './verbs.ts';
import { sendBytes, setWarnings } from './responses.ts';
import { ScaleHandler } from './scale-handler.ts';
import type { WatchHandler } from './watch-handler.ts';

export interface ResourceHandlerParts {
  readonly registry: Registry;
  readonly lister: Lister;
  readonly watches: WatchHandler;
  readonly memory: AnswerMemory;
  readonly clock: Clock;
}

interface Call {
  readonly context: Context;
  readonly path: ResourcePath;
  readonly resource: Resource;
  readonly format: Format;
  /** The form that the client asked for; undefined: the objects themselves. */
  readonly view?: ObjectView;
}

const objectFormats: readonly Format[] = ['json', 'yaml', 'problem'];

/** Of objects; `readPatch` does not read what is applied. */
const objectPatchTypes = [...patchTypes, applyType];

/** Of a collection. */
const deletedAtOnce = 1000;

/** A verb on a path becomes one call of the registry, and its result an answer. */
export class ResourceHandler {
  readonly #parts: ResourceHandlerParts;
  readonly #scales: ScaleHandler;

  constructor(parts: ResourceHandlerParts) {
    this.#parts = parts;
    this.#scales = new ScaleHandler(parts.registry);
  }

  handle(context: Context, path: ResourcePath, resource: Resource): Promise<void> | void {
    const { deprecation } = resource;
    if (deprecation !== undefined) setWarnings(context, [deprecation]);
    if (isReadOnly(resource.model) && !isRead(context)) throw methodNotAllowed(context, resource.model);
    if (isWatchRequest(context, path)) return this.#parts.watches.handle(context, path, resource);
    // Before anything is done: a client that cannot read the answer must not cause a write.
    const call: Call = { context, path, resource, ...this.#readView(context, path, resource) };
    if (path.name === undefined) return this.#onCollection(call);
    if (path.subresource !== undefined && !hasSubresource(resource, path.subresource)) throw pathNotFound();
    const key = keyAt(path, path.name);
    const { scale } = resource.model;
    if (path.subresource === 'scale' && scale !== undefined)
      return this.#scales.handle({ context, resource, key, format: call.format, paths: scale });
    return this.#onObject(call, key);
  }

  #readView(context: Context, path: ResourcePath, { model }: Resource): Pick<Call, 'format' | 'view'> {
    const isList = path.name === undefined && context.method !== 'POST';
    return readView(context, { model, formats: objectFormats, isList, clock: this.#parts.clock });
  }

  #onCollection(call: Call): Promise<void> | void {
    switch (call.context.method) {
      case 'GET':
      case 'HEAD':
        return this.#list(call);
      case 'POST':
        return this.#create(call);
      case 'DELETE':
        return this.#deleteCollection(call);
      default:
        throw methodNotAllowed(call.context, call.resource.model);
    }
  }

  #onObject(call: Call, key: ObjectKey): Promise<void> {
    const { method } = call.context;
    const { subresource } = call.path;
    if (subresource === 'finalize' && method !== 'PUT') throw methodNotAllowed(call.context, call.resource.model);
    if (method === 'GET' || method === 'HEAD') return this.#get(call, key);
    if (method === 'PUT') return this.#update(call, key);
    if (method === 'PATCH') return this.#patch(call, key);
    if (method === 'DELETE' && subresource === undefined) return this.#delete(call, key);
    throw methodNotAllowed(call.context, call.resource.model);
  }

  async #get(call: Call, key: ObjectKey): Promise<void> {
    const { context, resource } = call;
    const entry = await this.#parts.registry.get(resource, key, firstOf(context.query, 'resourceVersion'));
    sendObject(call, entry.bytes);
  }

  async #list(call: Call): Promise<void> {
    const { context, path, resource } = call;
    const list = await this.#parts.lister.list(resource, withNamespace(path, readListOptions(context.query)));
    this.#parts.memory.hold(context.res, memoryOf(list, call));
    sendList(call, list);
  }

  async #create(call: Call): Promise<void> {
    const { context, path, resource } = call;
    const options = readWriteOptions(context, 'CreateOptions');
    const body = typedBody(resource, await readObjectBody(context, messageOf(resource.model)));
    const written = await withWarnings(context, options, (warned) =>
      this.#parts.registry.create(resource, body, withNamespace(path, warned)),
    );
    context.status = 201;
    context.set('Location', `${context.path.replace(/\/$/, '')}/${written.object.metadata.name}`);
    this.#answer(call, written);
  }

  async #update(call: Call, key: ObjectKey): Promise<void> {
    const options = withSubresource(call.path, readWriteOptions(call.context, 'UpdateOptions'));
    const { context, resource } = call;
    const body = typedBody(resource, await readObjectBody(context, messageOf(resource.model)));
    const written = await withWarnings(context, options, (warned) =>
      this.#parts.registry.update(resource, key, body, warned),
    );
    this.#answer(call, written);
  }

  async #patch(call: Call, key: ObjectKey): Promise<void> {
    if (mediaTypeOf(call.context) === applyType) return this.#apply(call, key);
    const options = withSubresource(call.path, readWriteOptions(call.context, 'PatchOptions'));
    const patch = await readPatch(call.context, objectPatchTypes);
    const written = await withWarnings(call.context, options, (warned) =>
      this.#parts.registry.patch(call.resource, key, patch, warned),
    );
    this.#answer(call, written);
  }

  async #apply(call: Call, key: ObjectKey): Promise<void> {
    const options = withSubresource(call.path, readApplyOptions(call.context));
    const body = await readAppliedBody(call.context);
    const written = await withWarnings(call.context, options, (warned) =>
      this.#parts.registry.apply(call.resource, key, body, warned),
    );
    if (written.outcome === 'created') call.context.status = 201;
    this.#answer(call, written);
  }

  async #delete(call: Call, key: ObjectKey): Promise<void> {
    const options = await readDeleteOptions(call.context);
    const written = await withWarnings(call.context, options, (warned) =>
      this.#parts.registry.delete(call.resource, key, warned),
    );
    if (!isHidden(written)) return this.#answer(call, written);
    setWarnings(call.context, written.warnings);
    const status = deleted(call.resource, written);
    sendBytes(call.context, Buffer.from(JSON.stringify(status)), call.format);
  }

  async #deleteCollection(call: Call): Promise<void> {
    const { context, path, resource } = call;
    if (!verbsOf(resource.model).includes('deletecollection')) throw methodNotAllowed(context, resource.model);
    const options = await readDeleteOptions(context);
    const request = withNamespace(path, readListOptions(context.query));
    const list = await this.#parts.lister.list(resource, request);
    const { entries } = list;
    await deleteEntries(
      this.#parts.registry,
      { resource, entries },
      { atOnce: deletedAtOnce, optionsOf: () => options },
    );
    sendList(call, list);
  }

  #answer(call: Call, written: WriteResult): void {
    setWarnings(call.context, written.warnings);
    sendObject(call, written.bytes);
  }
}

/** Runs a write. The response to a refused write has the warnings of the write as well, as with Kubernetes. */
async function withWarnings<T extends WriteOptions>(
  context: Context,
  options: T,
  write: (options: T & WriteOptions) => Promise<WriteResult>,
): Promise<WriteResult> {
  const warnings: string[] = [];
  try {
    return await write({ ...options, warnings });
  } catch (error) {
    setWarnings(context, warnings);
    throw error;
  }
}

function sendObject({ context, format, view }: Call, bytes: Buffer): void {
  sendBytes(context, view === undefined ? bytes : view.ofObject(bytes), format);
}

function sendList({ context, format, view }: Call, list: ListPage): void {
  if (view !== undefined) return sendBytes(context, view.ofList(list), format);
  const text = { head: list.envelope(), field: 'items', entries: list.entries, check: () => list.checkKept() } as const;
  if (format === 'yaml') return sendBytes(context, Buffer.concat([...listPieces(text)]), format);
  sendStoredList(context, text);
}

/** What is made to answer with a list, in bytes; what is sent from the stored objects takes nothing. */
function memoryOf({ entries, isStored }: ListPage, { format, view }: Call): number {
  if (isStored && view === undefined && format !== 'yaml') return 0;
  let bytes = 0;
  for (const entry of entries) bytes += entry.bytes.length;
  return bytes;
}

function isRead({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD';
}

function keyAt(path: ResourcePath, name: string): ObjectKey {
  return path.namespace === undefined ? { name } : { name, namespace: path.namespace };
}

function withNamespace<T extends object>(path: ResourcePath, options: T): T & { namespace?: string } {
  return path.namespace === undefined ? options : { ...options, namespace: path.namespace };
}

function withSubresource<T extends WriteOptions>(path: ResourcePath, options: T): T & WriteOptions {
  const { subresource } = path;
  return subresource === 'status' || subresource === 'finalize' ? { ...options, subresource } : options;
}

function hasSubresource({ model }: Resource, name: string): boolean {
  return subresourcesOf(model).some((subresource) => subresource.name === name);
}

function deleted({ model }: Resource, { object }: WriteResult): Status {
  const { name, uid } = object.metadata;
  const details = { name, group: model.group, kind: model.plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
