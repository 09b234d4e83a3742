import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { columnsOf } from '../../views/columns-of.ts';
import { MetadataView } from '../../views/metadata-view.ts';
import type { MetaVersion, ObjectView } from '../../views/object-view.ts';
import { includedObjects, TableView } from '../../views/table-view.ts';
import type { IncludedObject } from '../../views/table-view.ts';
import { negotiate } from './accept.ts';
import type { ResponseFormat } from './accept.ts';
import { firstOf, quote } from './query.ts';
import type { QueryParameters } from './query.ts';

interface Shape {
  readonly kind: 'Table' | 'Metadata';
  readonly version: MetaVersion;
}

type Shapes = Readonly<Record<string, Shape>>;

const tables: Shapes = {
  'table.v1.meta.k8s.io': { kind: 'Table', version: 'v1' },
  'table.v1beta1.meta.k8s.io': { kind: 'Table', version: 'v1beta1' },
};

// For an object, and for the object of each watch event.
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
 * The format of a response, and the form that the client requested, if any. 406 when client and server have none in
 * common.
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
