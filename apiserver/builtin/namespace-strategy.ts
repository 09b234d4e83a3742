import { ApiError, checkDnsLabel } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';
import { defaultNamespace, namespaceFinalizer } from './namespace-kind.ts';
import type { NamespaceObject } from './namespace-kind.ts';

/** The label with the name of the namespace, by which selectors select it. */
const nameLabel = 'kubernetes.io/metadata.name';

/**
 * The rules of namespaces. A deleted namespace remains `Terminating` while `spec.finalizers` is not empty. The server
 * removes its own entry from this list when the namespace has no objects.
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
 * Adds the server's own finalizer to those that a client sent. A value that is not a list remains unchanged, because
 * the schema refuses it.
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

/**
 * Adds the label with the name. If the name is malformed, adds no label, so that the error is about the name and not
 * about the label.
 */
function withName(object: ApiObject): ApiObject {
  const { metadata } = object;
  if (checkDnsLabel(metadata.name).length > 0) return object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, [nameLabel]: metadata.name } } };
}

// A spec that is not an object remains unchanged, because the schema refuses it.
function withFinalizers(object: NamespaceObject, finalizers: readonly string[]): NamespaceObject {
  if (!isObject(object.spec)) return object;
  const { finalizers: _before, ...spec } = object.spec ?? {};
  const hasNone = Array.isArray(finalizers) && finalizers.length === 0;
  return { ...object, spec: hasNone ? spec : { ...spec, finalizers } };
}

function withPhase(object: NamespaceObject, phase: 'Active' | 'Terminating'): NamespaceObject {
  return isObject(object.status) ? { ...object, status: { ...object.status, phase } } : object;
}

/** True for an object, and for undefined and null, which both count as absent. */
function isObject(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && !Array.isArray(value));
}
