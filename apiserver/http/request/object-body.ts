import { ApiError, isJsonObject, type JsonObject } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { builtinKinds } from '../../builtin/builtin-kinds.ts';
import type { BodyCodec, BodySource } from '../../decode/body-codec.ts';
import type { BodyFormat } from '../../decode/decode-body.ts';
import { isBlank } from '../../decode/is-blank.ts';
import { readBody, readContentType } from '../../decode/read-body.ts';
import { protobufType } from '../../protobuf/decode-object.ts';
import type { Message } from '../../protobuf/message.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { reviewKinds } from '../../reviews/review-kinds.ts';
import { auditNotesOf } from './request-state.ts';

const objectTypes = ['application/json', 'application/yaml'];

/**
 * Reads the object in a request's body: in JSON or YAML, or as the `message` of its kind in protobuf. A missing
 * Content-Type counts as JSON, since `kubectl replace --raw` sends none.
 */
export function readObjectBody(context: Context, bodies: BodyCodec, message?: Message): Promise<BodySource> {
  const type = readContentType(context.headers['content-type']);
  if (type === '' || objectTypes.includes(type))
    return receiveBody(context, bodies, type === 'application/yaml' ? 'yaml' : 'json');
  if (message !== undefined && type === protobufType) return receiveBody(context, bodies, message);
  throw unsupported(message === undefined ? objectTypes : [...objectTypes, protobufType]);
}

/** Receives the body of a request, and decodes it from the given format. */
export async function receiveBody(context: Context, bodies: BodyCodec, format: BodyFormat): Promise<BodySource> {
  const { outgoing: res, audited } = context.state;
  const bytes = await readBody({ req: context.req, res }, bodies.memory);
  const decoded = bodies.decode(bytes, format, res);
  const body = decoded instanceof Promise ? await decoded : decoded;
  if (audited !== undefined) audited.notes.body = body;
  return body;
}

/** Reads the object of a server-side apply, in YAML or JSON. */
export async function readAppliedBody(context: Context, bodies: BodyCodec): Promise<BodySource> {
  return receiveBody(context, bodies, 'applied');
}

/**
 * Reads a body that may be absent; resolves with undefined when it is empty. A body counts as JSON if its Content-Type
 * is neither YAML nor protobuf.
 */
export async function readOptionalBody(context: Context, bodies: BodyCodec, message: Message): Promise<unknown> {
  const type = readContentType(context.headers['content-type']);
  const isProtobuf = type === protobufType;
  const bytes = await readBody(context, bodies.memory);
  if (isProtobuf ? bytes.length === 0 : isBlank(bytes)) return undefined;
  const body = await bodies.decode(bytes, isProtobuf ? message : textFormatOf(type), context.state.outgoing);
  const notes = auditNotesOf(context);
  if (notes !== undefined) notes.body = body;
  return body();
}

function textFormatOf(type: string): BodyFormat {
  return type === 'application/yaml' ? 'yaml' : 'json';
}

export function unsupported(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError('UnsupportedMediaType', message);
}

/**
 * The typed kinds: the built-in kinds except User, the kinds of reviews, and CustomResourceDefinition. In a body, an
 * object of such a kind may omit apiVersion and kind, see {@link typedBody}.
 */
const typedKinds: ReadonlySet<string> = new Set([
  ...builtinKinds.map(nameOf),
  ...reviewKinds.map(nameOf),
  nameOf({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' }),
]);

/** True for the {@link typedKinds}, whose objects may omit apiVersion and kind in a body. */
export function isTypedKind(model: Pick<ModelDescriptor, 'group' | 'kind'>): boolean {
  return typedKinds.has(nameOf(model));
}

/**
 * Returns the body of a write of one of the {@link typedKinds}, completed by apiVersion and kind from the path, as in
 * Kubernetes. Clients with a method for each of these kinds omit both fields, because the method implies them. Objects
 * of all other kinds must have both fields.
 */
export function typedBody({ model, apiVersion }: Pick<Resource, 'model' | 'apiVersion'>, body: BodySource): BodySource {
  const completed = (): unknown => {
    const object = body();
    if (!isJsonObject(object)) return object;
    return { ...object, ...absentOf(object, { apiVersion, kind: model.kind }) };
  };
  return Object.assign(completed, { isLarge: body.isLarge === true });
}

function absentOf(object: JsonObject, type: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(type).filter(([field]) => (object[field] ?? '') === ''));
}

function nameOf({ group, kind }: Pick<ModelDescriptor, 'group' | 'kind'>): string {
  return `${kind}.${group}`;
}
