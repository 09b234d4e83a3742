import type { Clock, ObjectKey, Status, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { readContentType } from '../../decode/read-body.ts';
import { isUserKind, passwordSubresource } from '../../builtin/user-kind.ts';
import { isReadOnly } from '../../builtin/service-kind.ts';
import { deleteEntries } from '../../registry/delete-entries.ts';
import { resourceName } from '../../registry/object/resource-errors.ts';
import type { Registry } from '../../registry/registry.ts';
import type { WriteOptions } from '../../registry/writes/write-options.ts';
import { isHidden } from '../../registry/writes/write-result.ts';
import type { WriteResult } from '../../registry/writes/write-result.ts';
import type { Lister } from '../../registry/reads/lister.ts';
import type { ListPage } from '../../registry/reads/list-page.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import type { ObjectView } from '../../views/object-view.ts';
import { awaitedVersion } from '../access/current.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import type { ResponseFormat } from '../request/accept.ts';
import type { AnswerMemory } from '../response/answer-memory.ts';
import { readApplyOptions, readDeleteOptions, readWriteOptions } from '../request/write-options.ts';
import { readListOptions } from '../request/list-options.ts';
import { listPieces, sendPieces, sendStoredList, sendYamlPieces, yamlPieces } from '../response/list-stream.ts';
import type { Message } from '../../protobuf/message.ts';
import { messageOf } from '../../protobuf/object-messages.ts';
import { methodNotAllowed, pathNotFound } from '../request/path-errors.ts';
import { isTypedKind, readAppliedBody, readObjectBody, typedBody } from '../request/object-body.ts';
import { patchTypes, readPatch } from '../request/patch-body.ts';
import { readPreconditionsHeader } from '../request/own-headers.ts';
import { firstOf, queryOf } from '../request/query.ts';
import { applyType, isWatchRequest } from '../request/resource-path.ts';
import { readView } from '../request/accept.ts';
import type { ResourcePath } from '../request/resource-path.ts';
import { subresourcesOf, verbsOf } from '../request/verbs.ts';
import { sendProtobufList } from '../response/protobuf-list.ts';
import { sendBytes, setWarnings, setYaml } from '../response/responses.ts';
import { DependentsHandler } from './dependents-handler.ts';
import type { DependentsHandlerParts } from './dependents-handler.ts';
import { ExplanationHandler } from './explanation-handler.ts';
import type { ExplanationHandlerParts } from './explanation-handler.ts';
import { HistoryHandler, asksForRevision } from './history-handler.ts';
import type { HistoryHandlerParts } from './history-handler.ts';
import { PasswordHandler } from './password-handler.ts';
import type { PasswordHandlerParts } from './password-handler.ts';
import { ScaleHandler } from './scale-handler.ts';
import { TokenRequestHandler } from './token-request-handler.ts';
import type { TokenRequestParts } from './token-request-handler.ts';
import type { WatchHandler } from '../watch/watch-handler.ts';

export interface ResourceHandlerParts
  extends
    Pick<PasswordHandlerParts, 'people'>,
    Pick<TokenRequestParts, 'accountIssuer'>,
    Pick<DependentsHandlerParts, 'dependents'>,
    Pick<ExplanationHandlerParts, 'table'>,
    HistoryHandlerParts {
  readonly registry: Registry;
  readonly lister: Lister;
  readonly watches: WatchHandler;
  readonly permissions: RequestPermissions;
  readonly bodies: BodyCodec;
  readonly memory: AnswerMemory;
  readonly clock: Clock;
}

interface Call {
  readonly context: Context;
  readonly path: ResourcePath;
  readonly resource: Resource;
  readonly kind: KindOfRequests;
  readonly format: ResponseFormat;
  /** The form of the response that the client asked for, such as a Table; undefined for the objects themselves. */
  readonly view: ObjectView | undefined;
}

/** An object to show, and the warnings of the write that resulted in it. */
interface Shown {
  readonly bytes: Buffer;
  readonly warnings?: readonly string[];
}

/** The properties of a kind that determine how its requests are read and its responses are written. */
interface KindOfRequests {
  readonly isReadOnly: boolean;
  /** The warning in each response, if the version is deprecated. */
  readonly deprecation: string | undefined;
  /** The formats in which objects of the kind can be sent. */
  readonly formats: readonly ResponseFormat[];
  /** The protobuf message of the kind, if it has one. */
  readonly message: Message | undefined;
  /** True when clients may leave out apiVersion and kind. */
  readonly isTyped: boolean;
}

const noWarnings: readonly string[] = [];

const objectFormats: readonly ResponseFormat[] = ['json', 'yaml', 'problem'];

/** The formats of kinds that have a protobuf message. */
const typedFormats: readonly ResponseFormat[] = [...objectFormats, 'protobuf'];

/** The media types that a PATCH of an object may have. A 415 lists them. */
const objectPatchTypes = [...patchTypes, applyType];

/** The maximum number of objects that a deletecollection deletes in one commit. */
const deletedAtOnce = 1000;

/**
 * Handles requests for objects: makes one call of the registry for a verb on a path, and writes the result as the
 * response.
 */
export class ResourceHandler {
  readonly #parts: ResourceHandlerParts;
  readonly #scales: ScaleHandler;
  readonly #passwords: PasswordHandler;
  readonly #tokens: TokenRequestHandler;
  readonly #history: HistoryHandler;
  readonly #explanations: ExplanationHandler;
  readonly #dependents: DependentsHandler;
  readonly #kinds = new WeakMap<ModelDescriptor, KindOfRequests>();

  constructor(parts: ResourceHandlerParts) {
    this.#parts = parts;
    this.#scales = new ScaleHandler(parts.registry, parts.bodies);
    this.#passwords = new PasswordHandler(parts);
    this.#tokens = new TokenRequestHandler(parts);
    this.#history = new HistoryHandler(parts);
    this.#explanations = new ExplanationHandler(parts);
    this.#dependents = new DependentsHandler(parts);
  }

  handle(context: Context, path: ResourcePath, resource: Resource): Promise<void> | void {
    const { model } = resource;
    const kind = this.#kinds.get(model) ?? this.#learn(resource);
    if (kind.deprecation !== undefined) setWarnings(context, [kind.deprecation]);
    if (kind.isReadOnly && !isRead(context)) throw methodNotAllowed(context, model);
    if (context.method === 'GET' && isWatchRequest(context, path))
      return this.#parts.watches.handle(context, path, resource);
    const isList = path.name === undefined && context.method !== 'POST';
    // The format is checked first, because a client that cannot read the response must not cause a write.
    const { format, view } = readView(context, { model, formats: kind.formats, isList, clock: this.#parts.clock });
    const call: Call = { context, path, resource, kind, format, view };
    if (path.name === undefined) return this.#onCollection(call);
    if (path.subresource === 'history') return this.#history.handle({ context, resource, key: keyAt(path, path.name) });
    if (path.subresource === 'explanation')
      return this.#explanations.handle({ context, resource, key: keyAt(path, path.name) });
    if (path.subresource === 'dependents')
      return this.#dependents.handle({ context, resource, key: keyAt(path, path.name) });
    if (path.subresource !== undefined && !hasSubresource(resource, path.subresource)) throw pathNotFound();
    const key = keyAt(path, path.name);
    const { scale } = resource.model;
    if (path.subresource === 'scale' && scale !== undefined)
      return this.#scales.handle({ context, resource, key, format: call.format, paths: scale });
    if (path.subresource === passwordSubresource && isUserKind(resource.model))
      return this.#passwords.handle({ context, resource, key });
    if (path.subresource === 'token') return this.#tokens.handle({ context, resource, key, format: call.format });
    return this.#onObject(call, key);
  }

  #learn({ model, deprecation }: Resource): KindOfRequests {
    const message = messageOf(model);
    const formats = message === undefined ? objectFormats : typedFormats;
    const kind = { isReadOnly: isReadOnly(model), deprecation, formats, message, isTyped: isTypedKind(model) };
    this.#kinds.set(model, kind);
    return kind;
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
    if (asksForRevision(context)) {
      const former = await this.#history.exactState({ context, resource, key });
      return this.#answer(call, former);
    }
    const entry = await this.#parts.registry.get(
      resource,
      key,
      awaitedVersion(context, firstOf(queryOf(context), 'resourceVersion')),
    );
    await this.#answer(call, entry);
  }

  async #list(call: Call): Promise<void> {
    const { context, path, resource } = call;
    setWarnings(context, missingFrom(resource, path.namespace));
    const asked = readListOptions(queryOf(context));
    const resourceVersion = awaitedVersion(context, asked.resourceVersion);
    const request = resourceVersion === undefined ? asked : { ...asked, resourceVersion };
    const list = await this.#parts.lister.list(resource, withNamespace(path, request));
    this.#parts.memory.hold(context, memoryOf(list));
    await this.#sendList(call, list);
  }

  async #create(call: Call): Promise<void> {
    const { context, path, resource, kind } = call;
    const options = readWriteOptions(context, 'CreateOptions', { namespace: path.namespace });
    const sent = await readObjectBody(context, this.#parts.bodies, kind.message);
    const body = kind.isTyped ? typedBody(resource, sent) : sent;
    const written = await this.#parts.registry.create(resource, body, options);
    const { name } = written.object.metadata;
    context.status = 201;
    context.state.createdName = name;
    const { path: at } = context;
    context.set('Location', `${at.endsWith('/') ? at.slice(0, -1) : at}/${name}`);
    await this.#answer(call, written);
  }

  async #update(call: Call, key: ObjectKey): Promise<void> {
    const { context, path, resource, kind } = call;
    const options = readWriteOptions(context, 'UpdateOptions', writtenPart(path));
    const sent = await readObjectBody(context, this.#parts.bodies, kind.message);
    const body = kind.isTyped ? typedBody(resource, sent) : sent;
    const written = await this.#parts.registry.update(resource, key, body, options);
    await this.#answer(call, written);
  }

  async #patch(call: Call, key: ObjectKey): Promise<void> {
    const { context, path, resource } = call;
    if (readContentType(context.headers['content-type']) === applyType) return this.#apply(call, key);
    const read = readWriteOptions(context, 'PatchOptions', writtenPart(path));
    const options = { preconditions: readPreconditionsHeader(context), ...read };
    const patch = await readPatch(context, this.#parts.bodies, objectPatchTypes);
    const written = await this.#parts.registry.patch(resource, key, patch, options);
    await this.#answer(call, written);
  }

  async #apply(call: Call, key: ObjectKey): Promise<void> {
    const { context, path, resource } = call;
    const checkCreate = (): void => this.#requireCreate(call);
    const options = { ...readApplyOptions(context, writtenPart(path)), checkCreate };
    const body = await readAppliedBody(context, this.#parts.bodies);
    const written = await this.#parts.registry.apply(resource, key, body, options);
    if (written.outcome === 'created') context.status = 201;
    await this.#answer(call, written);
  }

  /**
   * Requires the permission to create the object, because an apply creates an absent object.
   * @throws ApiError Forbidden
   */
  #requireCreate({ context, path }: Call): void {
    const { group, version, plural: resource, namespace, name } = path;
    const attributes = { isResource: true, verb: 'create', group, version, resource, namespace, name } as const;
    this.#parts.permissions.require(context, attributes);
  }

  async #delete(call: Call, key: ObjectKey): Promise<void> {
    const { context, resource } = call;
    const options = await readDeleteOptions(context, this.#parts.bodies);
    const written = await this.#parts.registry.delete(resource, key, options);
    if (!isHidden(written)) return this.#answer(call, written);
    if (written.warnings.length > 0) warn(context, written.warnings);
    sendBytes(context, Buffer.from(JSON.stringify(deleted(resource, written))), call.format);
  }

  async #deleteCollection(call: Call): Promise<void> {
    const { context, path, resource } = call;
    if (!verbsOf(resource.model).includes('deletecollection')) throw methodNotAllowed(context, resource.model);
    const { warnings: _unread, ...options } = await readDeleteOptions(context, this.#parts.bodies);
    const request = withNamespace(path, readListOptions(context.query));
    const list = await this.#parts.lister.list(resource, request);
    const { entries } = list;
    await deleteEntries(
      this.#parts.registry,
      { resource, entries },
      { atOnce: deletedAtOnce, optionsOf: () => options },
    );
    if (!this.#mayList(call)) return sendBytes(context, deletedCollection(resource), call.format);
    // The bytes of the deleted objects are counted, because only this response keeps them in memory once the history
    // has dropped them.
    this.#parts.memory.count(context, bytesOf(entries));
    await this.#sendList(call, list, () => undefined);
  }

  /**
   * Returns whether the user may list the objects. A user who may only delete them must not be able to read them by a
   * dry run.
   */
  #mayList({ context, path }: Call): boolean {
    const { group, version, plural: resource, namespace } = path;
    const attributes = { isResource: true, verb: 'list', group, version, resource, namespace } as const;
    return this.#parts.permissions.allows(context, attributes);
  }

  #answer({ context, format, view }: Call, { bytes, warnings = noWarnings }: Shown): void | Promise<void> {
    if (warnings.length > 0) warn(context, warnings);
    const shown = view === undefined ? bytes : view.ofObject(bytes);
    if (format !== 'yaml') return sendBytes(context, shown, format);
    const yaml = this.#parts.bodies.toYaml(shown, 'document');
    return yaml instanceof Promise ? yaml.then((text) => setYaml(context, text)) : setYaml(context, yaml);
  }

  #sendList(
    { context, format, view }: Call,
    list: ListPage,
    check = (): void => list.checkKept(),
  ): void | Promise<void> {
    const { memory } = this.#parts;
    const { entries } = list;
    if (format === 'protobuf') return sendProtobufList(context, { head: { ...list.envelope() }, entries, memory });
    if (view === undefined && format !== 'yaml')
      return sendStoredList(context, { head: list.envelope(), field: 'items', entries, check });
    const shown = view?.ofList(list.envelope()) ?? ({ head: list.envelope(), field: 'items' } as const);
    const text = { entries, check, ...shown };
    if (format === 'yaml') return sendYamlPieces(context, yamlPieces(text, this.#parts.bodies));
    sendPieces(context, listPieces(text));
  }
}

/**
 * Adds the warnings to the response. Clears `context.state.warnings`, because the response to a later error would
 * otherwise get these warnings twice.
 */
function warn(context: Context, warnings: readonly string[]): void {
  setWarnings(context, warnings);
  context.state.warnings = [];
}

/**
 * Returns the number of bytes that are in memory only for this list. The bytes of the response's pieces are counted
 * when they are sent.
 */
function memoryOf({ entries, isStored }: ListPage): number {
  return isStored ? 0 : bytesOf(entries);
}

function bytesOf(entries: ListPage['entries']): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}

function isRead({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The maximum number of names in one warning, so that people can read the warning. */
const maxNamed = 5;

/** Returns warnings about stored objects that a list leaves out because they cannot be read. */
function missingFrom({ cache, model }: Resource, namespace: string | undefined): readonly string[] {
  if (cache.broken.size === 0) return [];
  const broken = [...cache.broken.values()].filter((entry) => namespace === undefined || entry.namespace === namespace);
  if (broken.length === 0) return [];
  const names = broken.slice(0, maxNamed).map(({ key }) => `"${key}"`);
  const more = broken.length > maxNamed ? ', …' : '';
  return [`unreadable objects of ${resourceName(model)} are not listed (${broken.length}): ${names.join(', ')}${more}`];
}

function keyAt(path: ResourcePath, name: string): ObjectKey {
  return path.namespace === undefined ? { name } : { name, namespace: path.namespace };
}

function withNamespace<T extends object>(path: ResourcePath, options: T): T & { namespace?: string } {
  return path.namespace === undefined ? options : { ...options, namespace: path.namespace };
}

/** Returns the part of an object that a request to a path writes. */
function writtenPart({ subresource }: ResourcePath): Pick<WriteOptions, 'subresource'> {
  return { subresource: subresource === 'status' || subresource === 'finalize' ? subresource : undefined };
}

function hasSubresource({ model }: Resource, name: string): boolean {
  return subresourcesOf(model).some((subresource) => subresource.name === name);
}

function deletedCollection({ model }: Resource): Buffer {
  const details = { group: model.group, kind: model.plural };
  return Buffer.from(JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }));
}

function deleted({ model }: Resource, { object }: WriteResult): Status {
  const { name, uid } = object.metadata;
  const details = { name, group: model.group, kind: model.plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
