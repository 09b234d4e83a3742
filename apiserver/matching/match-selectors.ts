import { matchesLabels } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { selectorOf } from '../authorization/label-selector.ts';
import type { LabelMatcher } from '../authorization/label-selector.ts';
import type { LabelSelector } from '../builtin/objects/rbac-objects.ts';

type Labels = Readonly<Record<string, string>>;

/** The selectors of a webhook or a policy. By default, they select everything. */
export interface MatchSelectors {
  readonly namespaceSelector?: LabelSelector | null;
  readonly objectSelector?: LabelSelector | null;
}

/**
 * The object after a write (`object`) and before it (`oldObject`). A deletion has no `object`, and a creation has no
 * `oldObject`.
 */
export interface WrittenObjects {
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
}

/** Returns the labels with which namespace selectors are compared; undefined for an object that is in no namespace. */
type NamespaceLabels = () => Labels | undefined;

/** The compiled selectors of a webhook or a policy. */
export class CompiledSelectors {
  readonly #namespaces: LabelMatcher;
  readonly #objects: LabelMatcher;

  constructor({ namespaceSelector, objectSelector }: MatchSelectors) {
    this.#namespaces = selectorOf(namespaceSelector ?? {});
    this.#objects = selectorOf(objectSelector ?? {});
  }

  /**
   * Returns whether both selectors match. As in Kubernetes, an object selector matches when it selects the object
   * before or after the write, and a namespace selector matches every object that is in no namespace.
   */
  match(written: WrittenObjects, namespaceLabels: NamespaceLabels): boolean {
    return this.#matchNamespace(namespaceLabels) && this.#matchObjects(written);
  }

  #matchNamespace(namespaceLabels: NamespaceLabels): boolean {
    if (this.#namespaces.length === 0) return true;
    const labels = namespaceLabels();
    return labels === undefined || matchesLabels(this.#namespaces, labels);
  }

  #matchObjects({ object, oldObject }: WrittenObjects): boolean {
    if (this.#objects.length === 0) return true;
    return [object, oldObject].some((each) => each !== undefined && matchesLabels(this.#objects, labelsOf(each)));
  }
}

function labelsOf({ metadata }: ApiObject): Labels {
  return metadata.labels ?? {};
}
