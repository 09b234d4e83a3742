import { ApiError, formatLeaderEpoch } from '@homeostat/controller-runtime/api';
import type { FieldCause, LeaderEpoch, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { storeErrorCodeOf } from '../../store/store-error.ts';

/** The maximum number of characters that a message repeats from a request. A name has at most 253 characters. */
const maxEchoLength = 256;

type Named = Pick<ModelDescriptor, 'group' | 'kind' | 'plural'>;

// The messages of `notFound`, `alreadyExists`, `conflict` and `invalid` have the wording of Kubernetes, which clients
// and people know.

/** Returns the name of a resource, such as `persons.people.example.com`; for the core group, only the plural. */
export function resourceName({ group, plural }: Pick<Named, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** Shortens a client's text for a message. */
export function clip(text: string): string {
  return text.length > maxEchoLength ? `${text.slice(0, maxEchoLength)}…` : text;
}

function resourceDetails(model: Named, name: string): { name: string; group: string; kind: string } {
  return { name: clip(name), group: model.group, kind: model.plural };
}

export function notFound(model: Named, name: string): ApiError {
  return new ApiError('NotFound', `${resourceName(model)} "${clip(name)}" not found`, {
    details: resourceDetails(model, name),
  });
}

export function alreadyExists(model: Named, name: string, deleting: boolean): ApiError {
  const message = `${resourceName(model)} "${name}" already exists`;
  return new ApiError('AlreadyExists', deleting ? `object is being deleted: ${message}` : message, {
    details: resourceDetails(model, name),
  });
}

/** Returns the 409 for a failed precondition. `why` defaults to "the object has been modified; …". */
export function conflict(model: Named, name: string, why?: string): ApiError {
  const reason = why ?? 'the object has been modified; please apply your changes to the latest version and try again';
  return new ApiError('Conflict', `Operation cannot be fulfilled on ${resourceName(model)} "${name}": ${reason}`, {
    details: resourceDetails(model, name),
  });
}

/** Returns the 409 for a write of a former leader: its Lease has another holder or none, or was deleted. */
export function formerLeader(model: Named, name: string, leader: LeaderEpoch): ApiError {
  const message = `the term ${formatLeaderEpoch(leader)} of the lease "${leader.namespace}/${leader.name}" has ended`;
  return new ApiError('Conflict', `Operation cannot be fulfilled on ${resourceName(model)} "${name}": ${message}`, {
    details: resourceDetails(model, name),
    causes: [{ reason: 'FormerLeader', message }],
  });
}

export function invalid(model: Named, name: string, causes: readonly FieldCause[]): ApiError {
  const violations = causes.map((cause) =>
    cause.field === undefined ? cause.message : `${cause.field}: ${cause.message}`,
  );
  const text = violations.length === 1 ? violations[0] : `[${violations.join(', ')}]`;
  const kind = model.group === '' ? model.kind : `${model.kind}.${model.group}`;
  return new ApiError('Invalid', `${kind} "${clip(name)}" is invalid: ${text}`, {
    details: { name: clip(name), group: model.group, kind: model.kind },
    causes,
  });
}

/**
 * Returns the 422 for a parameter of a request, with the wording of Kubernetes
 * (`ListOptions.meta.k8s.io "" is invalid: …`).
 */
export function invalidOptions(kind: string, cause: FieldCause): ApiError {
  return invalid({ group: 'meta.k8s.io', kind, plural: '' }, '', [cause]);
}

export function badRequest(message: string, causes: readonly FieldCause[] = []): ApiError {
  return new ApiError('BadRequest', message, { causes });
}

/**
 * Returns the error for a write that failed in the store. A 503 means that nothing is stored, and that the client may
 * try again; a 504 means that the write may be stored or not.
 */
export function storeUnavailable(cause: unknown): ApiError {
  if (storeErrorCodeOf(cause) === 'unknown') {
    const message =
      'the database did not confirm the write: it is not known whether the write is stored; read before you repeat it';
    return new ApiError('Timeout', message, { cause, retryAfterSeconds: 1 });
  }
  return new ApiError('ServiceUnavailable', 'the database cannot be written at the moment', {
    cause,
    retryAfterSeconds: 1,
  });
}

/** Returns the 503 for a read that must be up to date while the database cannot be read. */
export function unreadable(cause: unknown): ApiError {
  return new ApiError('ServiceUnavailable', 'the database cannot be read at the moment', {
    cause,
    retryAfterSeconds: 1,
  });
}

/**
 * Returns the 422 for a value that another object holds in a unique index. The reason is not AlreadyExists: after
 * AlreadyExists, clients read the object with the name that they sent, but another object holds the value.
 */
export function duplicateValue(
  model: Named,
  name: string,
  taken: { index: string; value: string; holder: string },
): ApiError {
  const message = `Duplicate value: ${JSON.stringify(clip(taken.value))}: held by ${model.kind} "${taken.holder}"`;
  return invalid(model, name, [{ reason: 'FieldValueDuplicate', field: taken.index, message }]);
}
