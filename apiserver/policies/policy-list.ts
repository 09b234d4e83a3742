import { admissionPolicyBindingKind, admissionPolicyKind } from '../builtin/admission-policy-kinds.ts';
import type { AdmissionPolicy, AdmissionPolicyBinding, MatchResources } from '../builtin/objects/policy-objects.ts';
import type { Entry } from '../index/entry.ts';
import { CompiledSelectors } from '../matching/match-selectors.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import { compilePolicy } from './compile-policy.ts';
import type { CompiledPolicy } from './compile-policy.ts';

/** The writes to which a policy or a binding applies. */
export interface Matching {
  readonly match: MatchResources;
  readonly selectors: CompiledSelectors;
}

export interface ListedPolicy extends Matching {
  readonly policy: AdmissionPolicy;
  readonly compiled: CompiledPolicy;
}

export interface ListedBinding extends Matching {
  readonly binding: AdmissionPolicyBinding;
}

/** The policies and their bindings, sorted by name. */
export class PolicyList {
  readonly #policies: () => Resource | undefined;
  readonly #bindings: () => Resource | undefined;
  /**
   * The parsed policies, by their entries; the next field has the parsed bindings. The object of an entry never
   * changes, so each entry is parsed only once.
   */
  readonly #readPolicies = new WeakMap<Entry, ListedPolicy>();
  readonly #readBindings = new WeakMap<Entry, ListedBinding>();

  constructor(table: ResourceTable) {
    this.#policies = table.getterOf(admissionPolicyKind);
    this.#bindings = table.getterOf(admissionPolicyBindingKind);
  }

  policies(): readonly ListedPolicy[] {
    return entriesOf(this.#policies()).map((entry) => this.#policyOf(entry));
  }

  bindingsOf(policyName: string): readonly ListedBinding[] {
    return entriesOf(this.#bindings())
      .map((entry) => this.#bindingOf(entry))
      .filter(({ binding }) => binding.spec.policyName === policyName);
  }

  #policyOf(entry: Entry): ListedPolicy {
    const known = this.#readPolicies.get(entry);
    if (known !== undefined) return known;
    const policy = decodeObject<AdmissionPolicy>(entry.bytes);
    const { matchConstraints = {} } = policy.spec;
    const listed = { policy, compiled: compilePolicy(policy), ...matchingOf(matchConstraints) };
    this.#readPolicies.set(entry, listed);
    return listed;
  }

  #bindingOf(entry: Entry): ListedBinding {
    const known = this.#readBindings.get(entry);
    if (known !== undefined) return known;
    const binding = decodeObject<AdmissionPolicyBinding>(entry.bytes);
    const listed = { binding, ...matchingOf(binding.spec.matchResources ?? {}) };
    this.#readBindings.set(entry, listed);
    return listed;
  }
}

function matchingOf(match: MatchResources): Matching {
  return { match, selectors: new CompiledSelectors(match) };
}

function entriesOf(resource: Resource | undefined): readonly Entry[] {
  if (resource === undefined || resource.cache.size === 0) return [];
  return [...resource.cache.entries()].sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name));
}
