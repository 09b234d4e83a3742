import { applyMergePatch } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { service } from '../identity/user-info.ts';
import type { MatchPath, AdmissionOperation } from '../matching/match-rules.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { project } from '../registry/kinds/other-versions.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import { readScale, scaleOf, scalePatch } from '../registry/rules/scale.ts';
import type { ReviewedWrite } from '../registry/writes/registry-parts.ts';
import { reviewedObject } from './admission-review.ts';
import type { AdmissionRequest } from './admission-review.ts';

const operations: Readonly<Record<ReviewedWrite['verb'], AdmissionOperation>> = {
  create: 'CREATE',
  update: 'UPDATE',
  delete: 'DELETE',
};

/** Returns true for Namespaces: each one counts as an object in the namespace with its own name. */
function isNamespaces({ model }: Resource): boolean {
  return model.group === '' && model.kind === 'Namespace';
}

/** Returns the operation and the API path of a write, in the version of its request. */
export function pathOf({ verb, resource, options }: ReviewedWrite): MatchPath {
  const { group, version, plural, scope } = resource.model;
  return {
    operation: operations[verb],
    group,
    version,
    plural,
    subresource: options.subresource ?? '',
    isNamespaced: scope === 'Namespaced',
  };
}

/**
 * Returns the resource in the version in which a webhook receives objects. @throws Error for a version that the kind
 * does not have
 */
export function inVersionOf(resource: Resource, version: string): Resource {
  const found = resource.storage.inVersion(version);
  if (found === undefined) throw new Error(`${resource.model.kind} has no version ${version}`);
  return found;
}

/** Returns the stored object in the version that a webhook receives. */
export function storedObject({ stored, resource }: ReviewedWrite, version: string): ApiObject | undefined {
  return stored === undefined ? undefined : decodeObject(inVersionOf(resource, version).show(stored).bytes);
}

/** Returns the object of a write, converted to another version. */
export function convertedTo(object: ApiObject, from: Resource, to: Resource): ApiObject {
  return from === to ? object : project(object, { from, to, storage: from.storage.rules });
}

export interface RequestParts {
  readonly write: ReviewedWrite;
  /** The version in which the webhook receives the object. */
  readonly version: string;
  /** The new object, in `version`; undefined when the write deletes it. */
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
  readonly uid: string;
}

/** Returns the request of an AdmissionReview about a write. */
export function requestOf({ write, version, object, oldObject, uid }: RequestParts): AdmissionRequest {
  const { verb, resource, options } = write;
  const { group, plural } = resource.model;
  const { metadata } = object ?? oldObject ?? { metadata: { name: '' } };
  const namespace = isNamespaces(resource) ? metadata.name : 'namespace' in metadata ? metadata.namespace : undefined;
  const { subresource } = options;
  const { name: kind, own } = kindIn(write);
  return {
    uid,
    kind: own ?? { group, version, kind },
    resource: { group, version, resource: plural },
    ...(subresource === undefined ? {} : { subResource: subresource }),
    requestKind: own ?? { group, version: resource.model.version, kind },
    requestResource: { group, version: resource.model.version, resource: plural },
    ...(subresource === undefined ? {} : { requestSubResource: subresource }),
    name: metadata.name,
    ...(namespace === undefined ? {} : { namespace }),
    operation: operations[verb],
    userInfo: userInfoOf(write),
    object: shown(object, write),
    oldObject: shown(oldObject, write),
    dryRun: options.dryRun ?? false,
    options: optionsOf(write),
  };
}

/** Returns the kind of the object in a review. A Scale has its own group and version. */
function kindIn({ resource, options }: ReviewedWrite): {
  readonly name: string;
  readonly own?: AdmissionRequest['kind'];
} {
  if (options.subresource !== 'scale') return { name: resource.model.kind };
  return { name: 'Scale', own: { group: 'autoscaling', version: 'v1', kind: 'Scale' } };
}

function shown(object: ApiObject | undefined, { resource, options }: ReviewedWrite): object | null {
  const reviewed = reviewedObject(object);
  const { scale } = resource.model;
  if (object === undefined || options.subresource !== 'scale' || scale === undefined) return reviewed;
  return scaleOf(scale, object);
}

/** Returns the whole object after a change by a webhook, which may have received only a part of it (a Scale). */
export function withShown(object: ApiObject, next: unknown, { resource, options }: ReviewedWrite): unknown {
  const { scale } = resource.model;
  if (options.subresource !== 'scale' || scale === undefined) return next;
  const { replicas } = readScale(resource.model, object.metadata.name, next);
  return applyMergePatch(object, scalePatch(scale, { replicas }));
}

function userInfoOf({ options: { author = service, user = author } }: ReviewedWrite): object {
  const { username, uid, groups, extra } = user;
  return { username, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) };
}

const optionKinds = { create: 'CreateOptions', update: 'UpdateOptions', delete: 'DeleteOptions' } as const;

function optionsOf({ verb, options }: ReviewedWrite): object {
  const { dryRun = false, fieldManager, fieldValidation, preconditions, propagationPolicy } = options;
  const type = { kind: optionKinds[verb], apiVersion: 'meta.k8s.io/v1', ...(dryRun ? { dryRun: ['All'] } : {}) };
  if (verb === 'delete')
    return {
      ...type,
      ...(preconditions === undefined ? {} : { preconditions }),
      ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    };
  return {
    ...type,
    ...(fieldManager === undefined ? {} : { fieldManager }),
    ...(fieldValidation === undefined ? {} : { fieldValidation }),
  };
}
