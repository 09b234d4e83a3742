import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldCause, ModelDescriptor, ScaleSubresource } from '@homeostat/controller-runtime/api';
import { badRequest, clip, invalid } from '../object/resource-errors.ts';

/**
 * A Scale of `autoscaling/v1`: the desired and the actual number of replicas of an object. Each kind has its own fields
 * for these numbers.
 */
export interface Scale {
  readonly kind: 'Scale';
  readonly apiVersion: 'autoscaling/v1';
  readonly metadata: Partial<ApiObject['metadata']>;
  readonly spec: { readonly replicas?: number };
  readonly status: { readonly replicas: number; readonly selector?: string };
}

/** The requested number of replicas, with the request's preconditions. */
export interface ScaleRequest {
  readonly replicas: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** The maximum number of replicas: as in Kubernetes, the largest signed number of 32 bits. */
const maxReplicas = 2 ** 31 - 1;

export function scaleOf(paths: ScaleSubresource, object: ApiObject): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const wanted = valueAt(object, paths.specReplicasPath);
  const present = valueAt(object, paths.statusReplicasPath);
  const selector = paths.labelSelectorPath === undefined ? undefined : valueAt(object, paths.labelSelectorPath);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: typeof wanted === 'number' ? { replicas: wanted } : {},
    status: {
      replicas: typeof present === 'number' ? present : 0,
      ...(typeof selector === 'string' ? { selector } : {}),
    },
  };
}

/**
 * Reads the requested number of replicas and the preconditions from a Scale. @throws ApiError BadRequest when the body
 * is not a Scale of this object, Invalid for an impossible number of replicas.
 */
export function readScale(model: ModelDescriptor, name: string, body: unknown): ScaleRequest {
  const scale = fieldsOf(body, 'the body');
  if (scale['kind'] !== 'Scale' || scale['apiVersion'] !== 'autoscaling/v1')
    throw badRequest('the object provided is unrecognized: must be a Scale of autoscaling/v1');
  const metadata = fieldsOf(scale['metadata'] ?? {}, 'metadata');
  if (metadata['name'] !== undefined && metadata['name'] !== name)
    throw badRequest(
      `the name of the object (${clip(JSON.stringify(metadata['name']))}) does not match the name on the URL (${name})`,
    );
  const replicas = fieldsOf(scale['spec'] ?? {}, 'spec')['replicas'] ?? 0;
  if (!Number.isInteger(replicas) || Number(replicas) < 0 || Number(replicas) > maxReplicas) {
    const field = model.scale?.specReplicasPath ?? 'spec.replicas';
    const message = `Invalid value: ${clip(JSON.stringify(replicas))}: should be a non-negative integer`;
    const cause: FieldCause = { reason: 'FieldValueInvalid', field, message };
    throw invalid(model, name, [cause]);
  }
  return { replicas: Number(replicas), ...textOf(metadata, 'uid'), ...textOf(metadata, 'resourceVersion') };
}

/** Returns the merge patch that sets the replicas of an object. */
export function scalePatch(paths: ScaleSubresource, { replicas, uid, resourceVersion }: ScaleRequest): object {
  const [first = 'spec', ...rest] = segmentsOf(paths.specReplicasPath);
  const nested = { [first]: rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), replicas) };
  const metadata = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return { ...nested, metadata };
}

function valueAt(object: object, path: string): unknown {
  return segmentsOf(path).reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined,
    object,
  );
}

/** Returns the segments of a path such as `.spec.replicas`. */
function segmentsOf(path: string): readonly string[] {
  return path.slice(1).split('.');
}

function fieldsOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (isJsonObject(value)) return value;
  throw badRequest(`${place} of a Scale must be an object`);
}

function textOf(fields: Readonly<Record<string, unknown>>, name: 'uid' | 'resourceVersion'): Record<string, string> {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return {};
  if (typeof value !== 'string') throw badRequest(`metadata.${name} must be a string`);
  return { [name]: value };
}
