import { ApiError, checkDnsLabel } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';
import { defaultNamespace, namespaceFinalizer } from './namespace-kind.ts';
import type { NamespaceObject } from './namespace-kind.ts';

/** Selects a namespace by its name. */
const nameLabel = 'kubernetes.io/metadata.name';

/**
 * The rules of namespaces: a deleted namespace stays `Terminating` while `spec.finalizers` is not empty, which means
 * until it has no objects.
 */
export const namespaceStrategy: KindStrategy = {
  completeNew: (object) => complete(object, withOwnFinalizer(object)),
  completeNext: (next, stored) => complete(next, finalizersOf(stored)),
  isHeld: (object) => finalizersOf(object).length > 0,
  declareDeleted: (object) => withPhase(object, 'Terminating'),
  finalize: (stored, sent: NamespaceObject) => ({ ...stored, spec: sent.spec ?? {} }),
  checkDelete({ metadata: { name } }) {
    if (name !== defaultNamespace) return;
    throw new ApiError('Forbidden', `namespaces "${name}" is forbidden: this namespace may not be deleted`, {
      details: { name, group: '', kind: 'namespaces' },
    });
  },
};

function finalizersOf(namespace: NamespaceObject): readonly string[] {
  return namespace.spec?.finalizers ?? [];
}

/**
 * Adds our own finalizer to those that a client sent. A value that is not a list stays unchanged: the schema refuses
 * it.
 */
function withOwnFinalizer(sent: NamespaceObject): readonly string[] {
  const finalizers = finalizersOf(sent);
  const isList: boolean = Array.isArray(finalizers);
  return isList ? [...new Set([...finalizers, namespaceFinalizer])] : finalizers;
}

function complete(object: ApiObject, finalizers: readonly string[]): ApiObject {
  const { metadata } = object;
  return withPhase(
    withFinalizers(withName(object), finalizers),
    metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating',
  );
}

/** Adds the label with the name. Skips a malformed name, so that it is refused as a name and not as a label. */
function withName(object: ApiObject): ApiObject {
  const { metadata } = object;
  if (checkDnsLabel(metadata.name).length > 0) return object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, [nameLabel]: metadata.name } } };
}

// A spec that is not an object stays unchanged: the schema refuses it.
function withFinalizers(object: NamespaceObject, finalizers: readonly string[]): NamespaceObject {
  if (!isObject(object.spec)) return object;
  const { finalizers: _before, ...spec } = object.spec ?? {};
  const hasNone = Array.isArray(finalizers) && finalizers.length === 0;
  return { ...object, spec: hasNone ? spec : { ...spec, finalizers } };
}

function withPhase(object: NamespaceObject, phase: 'Active' | 'Terminating'): NamespaceObject {
  return isObject(object.status) ? { ...object, status: { ...object.status, phase } } : object;
}

/** True for an object, and for null, which counts as absent. */
function isObject(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && !Array.isArray(value));
}
