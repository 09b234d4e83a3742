// Functions that make parts of requests. These requests cause as much work for the server as requests of their type
// can.
import type { HostileRequest } from './hostile-request.ts';
import { newThing, things } from './models.ts';

/** A request that causes as much work for the server as a request of its type can. */
export interface LargeRequest {
  readonly name: string;
  /** Returns the requests that are sent before this one, to the same object. */
  readonly before?: (object: string) => readonly HostileRequest[];
  readonly request: (object: string) => HostileRequest;
}

export type Spec = Readonly<Record<string, unknown>>;

export const jsonPatch = 'application/json-patch+json';
export const mergePatch = 'application/merge-patch+json';
export const applyPatch = 'application/apply-patch+yaml';

/** The maximum number of fields of an object, and of nodes of a body. */
export const [maxFields, maxNodes] = [10_000, 250_000];

export function repeat<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/**
 * Returns `count` pseudo-random letters a and b. The same name always gives the same letters. They have a period of
 * 2^31, so RE2 cannot reuse cached states for them.
 */
export function randomLetters(count: number, name: string): string {
  let state = Number.parseInt(Buffer.from(name).toString('hex').slice(-7), 16);
  return repeat(count, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff;
    return state >= 1_073_741_824 ? 'a' : 'b';
  }).join('');
}

export function fields(count: number, value: unknown): Spec {
  return Object.fromEntries(repeat(count, (index) => [`k${index}`, value]));
}

/** Returns several maps, each with almost the maximum number of fields. */
export function maps(count: number, value: unknown): Spec {
  return Object.fromEntries(repeat(count, (index) => [`m${index}`, fields(maxFields - 10, value)]));
}

export function post(body: string, type = 'application/json', path = things): HostileRequest {
  return { method: 'POST', path, headers: { 'content-type': type }, body };
}

export function create(spec: Spec, metadata: Spec = {}): (object: string) => HostileRequest {
  return (object) => post(JSON.stringify(newThing(object, spec, metadata)));
}

export function patch(type: string, body: unknown, query = ''): (object: string) => HostileRequest {
  return (object) => {
    const text = typeof body === 'function' ? (body as (name: string) => unknown)(object) : body;
    const sent = typeof text === 'string' ? text : JSON.stringify(text);
    return { method: 'PATCH', path: `${things}/${object}${query}`, headers: { 'content-type': type }, body: sent };
  };
}

export function apply(spec: Spec, query: string): (object: string) => HostileRequest {
  return patch(applyPatch, (object: string) => newThing(object, spec), `?fieldManager=${query}`);
}

export function put(spec: Spec, metadata: Spec = {}): (object: string) => HostileRequest {
  return (object) => ({ ...create(spec, metadata)(object), method: 'PUT', path: `${things}/${object}` });
}

/** Returns eight lists of type map, each with the given number of items. */
export function keyedLists(items: number, v: string): Spec {
  const list = repeat(items, (index) => ({ k: `${index}`, v }));
  return { manyKeyed: Object.fromEntries(repeat(8, (index) => [`l${index}`, list])) };
}

/**
 * Numbers of items for {@link keyedLists}, each just below a limit. `mostItems` is below the limit for one list.
 * `storedItems` is below the limit for storing all eight lists together with the managers of their fields.
 */
export const [mostItems, storedItems] = [9_990, 2_300];

/** Returns metadata with 8,000 field managers, each of which owns a field. */
export function managers(operation: 'Apply' | 'Update'): Spec {
  const managedFields = repeat(8_000, (index) => ({
    manager: `m${index}`,
    operation,
    fieldsType: 'FieldsV1',
    fieldsV1: { [`f:x${index}`]: {} },
  }));
  return { managedFields };
}

/** Returns metadata with a field manager that owns items of the lists that {@link keyedLists} returns. */
export function itemsOwner(): Spec {
  const list = Object.fromEntries(repeat(mostItems, (index) => [`k:{"k":"${index}"}`, {}]));
  const lists = Object.fromEntries(repeat(6, (index) => [`f:l${index}`, list]));
  const fieldsV1 = { 'f:spec': { 'f:manyKeyed': lists } };
  return { managedFields: [{ manager: 'm', operation: 'Apply', fieldsType: 'FieldsV1', fieldsV1 }] };
}

export function yaml(text: string): (object: string) => HostileRequest {
  const start = (object: string): string =>
    `apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: ${object}}\n`;
  return (object) => post(`${start(object)}spec:\n  any:\n${text}`, 'application/yaml');
}

export function get(query: string, accept = 'application/json'): (object: string) => HostileRequest {
  return (object) => ({ method: 'GET', path: `${things}${query.replace('<name>', object)}`, headers: { accept } });
}

export const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
export const metadataAlone = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Returns a Namespace with the given number of labels, in the Protobuf encoding of clients in Go. */
export function namespaceMessage(labels: number): Buffer {
  const text = (number: number, value: string): Buffer => bytes(number, Buffer.from(value));
  const metadata = [
    text(1, 'protobuf'),
    ...repeat(labels, (index) => bytes(11, Buffer.concat([text(1, `k${index}`), text(2, 'v')]))),
  ];
  const type = Buffer.concat([text(1, 'v1'), text(2, 'Namespace')]);
  return Buffer.concat([Buffer.from('k8s\0'), bytes(1, type), bytes(2, bytes(1, Buffer.concat(metadata)))]);
}

function bytes(number: number, value: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

function varint(value: number): Buffer {
  const out: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    out.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) return Buffer.from(out);
  }
}
