import type { ApiObject } from '@homeostat/controller-runtime/api';
import { namespaceKind } from '../builtin/namespace-kind.ts';
import type { Entry } from '../index/entry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { WrittenObjects } from './match-selectors.ts';

type Labels = Readonly<Record<string, string>>;

/** Finds the namespaces of objects, for selectors and expressions. */
export class NamespaceLabels {
  readonly #namespaces: () => Resource | undefined;
  readonly #read = new WeakMap<Entry, ApiObject>();

  constructor(table: ResourceTable) {
    this.#namespaces = table.getterOf(namespaceKind);
  }

  /**
   * Returns the labels with which namespace selectors are compared: the labels of the object's namespace, or, for a
   * Namespace, its own labels. Returns undefined when the object is in no namespace.
   */
  of({ model }: Resource, { object, oldObject }: WrittenObjects): Labels | undefined {
    const written = object ?? oldObject;
    if (model.group === '' && model.kind === namespaceKind.kind) return written?.metadata.labels ?? {};
    const namespace = written?.metadata.namespace;
    if (model.scope !== 'Namespaced' || namespace === undefined) return undefined;
    return this.find(namespace)?.metadata.labels ?? {};
  }

  /** Returns a stored Namespace. */
  find(name: string): ApiObject | undefined {
    const entry = this.#namespaces()?.cache.get(name);
    if (entry === undefined) return undefined;
    const known = this.#read.get(entry) ?? decodeObject(entry.bytes);
    this.#read.set(entry, known);
    return known;
  }
}
