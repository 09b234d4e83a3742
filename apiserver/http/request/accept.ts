import { ApiError, LruCache } from '@homeostat/controller-runtime/api';
import type { Clock, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { columnsOf } from '../../views/columns-of.ts';
import { MetadataView } from '../../views/metadata-view.ts';
import type { MetaVersion, ObjectView } from '../../views/object-view.ts';
import { includedObjects, TableView } from '../../views/table-view.ts';
import type { IncludedObject } from '../../views/table-view.ts';
import { firstOf, quote } from './query.ts';
import type { QueryParameters } from './query.ts';

/**
 * The formats of responses. `problem` is JSON for objects and RFC 9457 for errors. `sse` is for watches, and `protobuf`
 * for clients that accept no other format.
 */
export type ResponseFormat = 'json' | 'yaml' | 'problem' | 'sse' | 'protobuf';

const formatsByType: Readonly<Record<string, ResponseFormat>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/yaml': 'yaml',
  'application/problem+json': 'problem',
  'text/event-stream': 'sse',
  'application/vnd.kubernetes.protobuf': 'protobuf',
};

const maxAcceptLength = 1024;

/** A range of an Accept header. `shape`, such as `table.v1.meta.k8s.io`, requests another form of the response. */
interface Range {
  readonly format: ResponseFormat;
  readonly shape?: string;
}

/** The format of a response, such as YAML, and its form: the object, or another form, such as a Table. */
export interface Accepted<T> {
  readonly format: ResponseFormat;
  /** The form that the client requested; undefined for the object itself. */
  readonly shape?: T;
}

// This is a cache of parsed headers, because clients send the same few headers again and again.
const known = new LruCache<string, { readonly found: readonly Range[] }>({ maxEntries: 128 });

const plainJson: Accepted<never> = { format: 'json' };

/**
 * Returns the media type that the client prefers among those that the server supports: the one with the highest
 * quality, and among equals the first in the header. Protobuf is chosen only when the client accepts no other supported
 * type. `shapes` are the other forms that this response can have; they are always JSON. Their keys are `<as>.<v>.<g>`
 * in lower case. Throws a 406 when the client accepts none of the supported types.
 */
export function negotiate<T = never>(
  header: string | undefined,
  offered: readonly ResponseFormat[],
  shapes: Readonly<Record<string, T>> = {},
): Accepted<T> {
  if (header === undefined || header === '' || header === '*/*' || header === 'application/json') return plainJson;
  const ranges = acceptedRanges(header);
  for (const { format, shape } of ranges) {
    if (!offered.includes(format) || format === 'protobuf') continue;
    if (shape === undefined) return { format };
    const offer = Object.hasOwn(shapes, shape) ? shapes[shape] : undefined;
    if (offer !== undefined && format === 'json') return { format, shape: offer };
  }
  const isLast =
    offered.includes('protobuf') && ranges.some(({ format, shape }) => format === 'protobuf' && shape === undefined);
  if (isLast) return { format: 'protobuf' };
  throw new ApiError('NotAcceptable', `only the following media types are accepted: ${mediaTypes(offered)}`);
}

/** True when the client wants errors in the form of RFC 9457. */
export function wantsProblem(header: string | undefined): boolean {
  return (
    header !== undefined &&
    header.includes('application/problem+json') &&
    acceptedRanges(header).some(({ format }) => format === 'problem')
  );
}

function acceptedRanges(header: string): readonly Range[] {
  const cached = known.get(header);
  if (cached !== undefined) return cached.found;
  const found = header.length > maxAcceptLength ? [] : parseAccept(header);
  if (header.length <= maxAcceptLength) known.set(header, { found });
  return found;
}

function parseAccept(header: string): readonly Range[] {
  return header
    .split(',')
    .map(parseRange)
    .filter((range) => range.quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .flatMap(({ format, shape }) => {
      if (format === undefined) return [];
      return shape === undefined ? [{ format }] : [{ format, shape }];
    });
}

function parseRange(text: string): {
  readonly format: ResponseFormat | undefined;
  readonly shape: string | undefined;
  readonly quality: number;
} {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim().toLowerCase());
  const parameters = new Map(rest.map((part) => [part.split('=', 1)[0], part.slice(part.indexOf('=') + 1)]));
  const quality = Number(parameters.get('q') ?? 1);
  const shape = parameters.has('as') ? ['as', 'v', 'g'].map((name) => parameters.get(name) ?? '').join('.') : undefined;
  return { format: formatsByType[type], shape, quality: Number.isNaN(quality) ? 0 : quality };
}

function mediaTypes(offered: readonly ResponseFormat[]): string {
  return Object.entries(formatsByType)
    .filter(([type, format]) => !type.includes('*') && format !== 'problem' && offered.includes(format))
    .map(([type]) => type)
    .join(', ');
}

interface Shape {
  readonly kind: 'Table' | 'Metadata';
  readonly version: MetaVersion;
}

type Shapes = Readonly<Record<string, Shape>>;

const tables: Shapes = {
  'table.v1.meta.k8s.io': { kind: 'Table', version: 'v1' },
  'table.v1beta1.meta.k8s.io': { kind: 'Table', version: 'v1beta1' },
};

// The views that a client can request, in the Accept header, of a single object or of the object in a watch event.
const objectShapes: Shapes = {
  ...tables,
  'partialobjectmetadata.v1.meta.k8s.io': { kind: 'Metadata', version: 'v1' },
  'partialobjectmetadata.v1beta1.meta.k8s.io': { kind: 'Metadata', version: 'v1beta1' },
};

const listShapes: Shapes = {
  ...tables,
  'partialobjectmetadatalist.v1.meta.k8s.io': { kind: 'Metadata', version: 'v1' },
  'partialobjectmetadatalist.v1beta1.meta.k8s.io': { kind: 'Metadata', version: 'v1beta1' },
};

export interface ViewRequest {
  readonly model: ModelDescriptor;
  /** The formats that the response can have. */
  readonly formats: readonly ResponseFormat[];
  readonly isList: boolean;
  readonly clock: Clock;
}

/**
 * Returns the format of the response, such as `json`. Also returns the view, Table or PartialObjectMetadata, if the
 * client requested one. Throws a 406 when client and server have no format in common.
 */
export function readView(
  { headers, query }: Context,
  { model, formats, isList, clock }: ViewRequest,
): { readonly format: ResponseFormat; readonly view?: ObjectView } {
  const { format, shape } = negotiate(headers.accept, formats, isList ? listShapes : objectShapes);
  if (shape === undefined) return { format };
  const { kind, version } = shape;
  if (kind === 'Metadata') return { format, view: new MetadataView(version) };
  const includeObject = readIncludeObject(query);
  return { format, view: new TableView({ columns: columnsOf(model), version, includeObject, now: () => clock.now() }) };
}

function readIncludeObject(query: QueryParameters): IncludedObject {
  const asked = firstOf(query, 'includeObject') ?? 'Metadata';
  const found = includedObjects.find((value) => value === asked);
  if (found !== undefined) return found;
  const message = `includeObject: Unsupported value: ${quote(asked)}: supported values: ${includedObjects.join(', ')}`;
  throw new ApiError('BadRequest', message);
}
