import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject, StatusReason } from '@homeostat/controller-runtime/api';
import { toError } from '../base/to-error.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { readAny } from '../cel/schema/json-values.ts';
import { matchedVersion, matchesRules } from '../matching/match-rules.ts';
import type { NamespaceLabels } from '../matching/namespace-labels.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { ReviewedWrite } from '../registry/writes/registry-parts.ts';
import { nextTurn } from '../turns/next-turn.ts';
import { authorizerValues } from '../webhooks/review-asker.ts';
import { convertedTo, inVersionOf, pathOf, requestOf, storedObject } from '../webhooks/review-subject.ts';
import { Budget, LazyVariables } from './evaluation.ts';
import type { EvaluationValues } from './evaluation.ts';
import { judgePolicy } from './judge-policy.ts';
import type { PolicyDecision } from './judge-policy.ts';
import type { ListedBinding, ListedPolicy, Matching, PolicyList } from './policy-list.ts';
import { paramsOf } from './policy-params.ts';
import { readNamespace, readRequest } from './policy-scope.ts';

/** The maximum cost of all expressions of one policy, for one write with one binding and one parameter object. */
const objectLimit = 10_000_000;

/** When its evaluations reach this cost, which takes about 5 ms, {@link PolicyReview} lets other requests run. */
const costPerTurn = 150_000;

/** The maximum number of failed validations that an audit entry lists. */
const maxAudited = 50;

export interface PolicyReviewParts {
  readonly list: PolicyList;
  readonly table: ResourceTable;
  readonly namespaces: NamespaceLabels;
  readonly authorizer: Authorizer;
}

/** A write, and the version in which a policy receives the object. */
interface Subject {
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
  readonly version: string;
  readonly write: ReviewedWrite;
}

interface Denial {
  readonly policy: string;
  readonly binding: string;
  readonly decision: PolicyDecision;
}

/** Checks writes against ValidatingAdmissionPolicies, with the rules of kube-apiserver. */
export class PolicyReview {
  readonly #parts: PolicyReviewParts;
  #inTurn = 0;

  constructor(parts: PolicyReviewParts) {
    this.#parts = parts;
  }

  /** @throws ApiError with the reason and the message of the first policy that denies the write */
  async check(object: ApiObject | undefined, write: ReviewedWrite): Promise<void> {
    const denials: Denial[] = [];
    const audited: object[] = [];
    for (const listed of this.#parts.list.policies()) {
      const subject = this.#subjectOf(listed, object, write);
      if (subject === undefined) continue;
      for (const binding of this.#parts.list.bindingsOf(listed.policy.metadata.name)) {
        if (!this.#matchesBinding(binding, subject)) continue;
        for (const decision of await this.#decide(listed, binding, subject))
          this.#apply({ listed, binding, decision }, { write, denials, audited });
      }
    }
    if (audited.length > 0)
      write.options.annotate?.(
        'validation.policy.admission.k8s.io/validation_failure',
        JSON.stringify(audited.slice(0, maxAudited)),
      );
    const [first] = denials;
    if (first !== undefined) throw refusalOf(first, object, write);
  }

  #apply(
    { listed, binding, decision }: { listed: ListedPolicy; binding: ListedBinding; decision: PolicyDecision },
    into: { write: ReviewedWrite; denials: Denial[]; audited: object[] },
  ): void {
    const policy = listed.policy.metadata.name;
    const { name } = binding.binding.metadata;
    const { validationActions = [] } = binding.binding.spec;
    const { message, index } = decision;
    // An error of an audit annotation, or of the binding itself, denies the write, whatever actions the binding has.
    if (index === undefined || validationActions.includes('Deny'))
      into.denials.push({ policy, binding: name, decision });
    if (index === undefined) return;
    if (validationActions.includes('Warn'))
      into.write.warnings.push(
        `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${name}': ${message}`,
      );
    if (validationActions.includes('Audit'))
      into.audited.push({ message, policy, binding: name, expressionIndex: index, validationActions });
  }

  /** Returns the write in the version that a policy receives; undefined when the policy does not apply to the write. */
  #subjectOf(listed: ListedPolicy, object: ApiObject | undefined, write: ReviewedWrite): Subject | undefined {
    const version = this.#versionFor(listed, write, object);
    if (version === undefined) return undefined;
    const target = inVersionOf(write.resource, version);
    const shown = object === undefined ? undefined : convertedTo(object, write.resource, target);
    const subject = { object: shown, oldObject: storedObject(write, version), version, write };
    return this.#matchesSelectors(listed, subject) ? subject : undefined;
  }

  #matchesBinding(binding: ListedBinding, subject: Subject): boolean {
    const { match } = binding;
    const isFor =
      match.resourceRules === undefined ||
      match.resourceRules.length === 0 ||
      this.#versionFor(binding, subject.write, subject.object) !== undefined;
    return isFor && !isExcluded(binding, subject.write, subject.object) && this.#matchesSelectors(binding, subject);
  }

  #versionFor(matching: Matching, write: ReviewedWrite, object: ApiObject | undefined): string | undefined {
    const { match } = matching;
    if (isExcluded(matching, write, object)) return undefined;
    const name = nameOf(write, object);
    const rules = (match.resourceRules ?? []).filter(
      ({ resourceNames = [] }) => resourceNames.length === 0 || resourceNames.includes(name),
    );
    const served = write.resource.storage.served().map(({ model }) => model.version);
    const { matchPolicy = 'Equivalent' } = match;
    return matchedVersion({ rules, matchPolicy }, pathOf(write), served);
  }

  #matchesSelectors({ selectors }: Matching, { object, oldObject, write }: Subject): boolean {
    const { namespaces } = this.#parts;
    return selectors.match({ object, oldObject }, () => namespaces.of(write.resource, { object, oldObject }));
  }

  async #decide(
    listed: ListedPolicy,
    { binding }: ListedBinding,
    subject: Subject,
  ): Promise<readonly PolicyDecision[]> {
    const { policy, compiled } = listed;
    const isIgnored = policy.spec.failurePolicy === 'Ignore';
    const { paramKind } = policy.spec;
    const { object, oldObject } = subject;
    const namespace = (object ?? oldObject)?.metadata.namespace;
    const { paramRef } = binding.spec;
    try {
      const decisions: PolicyDecision[] = [];
      for (const params of await paramsOf(this.#parts.table, { paramKind, paramRef, namespace })) {
        const budget = new Budget(objectLimit, (cost) => this.#pause(cost));
        const values = this.#valuesOf(listed, { subject, params, budget, namespace });
        const annotate = (key: string, value: string): void =>
          subject.write.options.annotate?.(`${policy.metadata.name}/${key}`, value);
        decisions.push(...(await judgePolicy(compiled, { values, budget, isIgnored, annotate })));
      }
      return decisions;
    } catch (error) {
      if (isIgnored) return [];
      return [
        { message: `failed to configure binding: ${toError(error).message}`, reason: 'Invalid', index: undefined },
      ];
    }
  }

  /** Lets other requests run after some milliseconds of evaluations. */
  #pause(cost: number): Promise<void> | undefined {
    this.#inTurn += cost;
    if (this.#inTurn < costPerTurn) return undefined;
    this.#inTurn = 0;
    return nextTurn();
  }

  #valuesOf(listed: ListedPolicy, { subject, params, budget, namespace }: Evaluated): EvaluationValues {
    const { object, oldObject, version, write } = subject;
    const request = requestOf({ write, version, object, oldObject, uid: '' });
    const { namespaces } = this.#parts;
    const { authorizer } = this.#parts;
    const values: EvaluationValues = [
      readAny(object),
      readAny(oldObject),
      readRequest(request),
      readAny(params),
      namespace === undefined ? null : readNamespace(namespaces.find(namespace) ?? null),
      new LazyVariables(listed.compiled.variables, () => values, budget),
      ...authorizerValues(authorizer, write, { name: nameOf(write, object), namespace }),
    ];
    return values;
  }
}

interface Evaluated {
  readonly subject: Subject;
  readonly params: ApiObject | undefined;
  readonly budget: Budget;
  readonly namespace: string | undefined;
}

function isExcluded({ match }: Matching, write: ReviewedWrite, object: ApiObject | undefined): boolean {
  const name = nameOf(write, object);
  return (match.excludeResourceRules ?? []).some(
    ({ resourceNames = [], ...rule }) =>
      (resourceNames.length === 0 || resourceNames.includes(name)) && matchesRules([rule], pathOf(write)),
  );
}

function nameOf({ stored }: ReviewedWrite, object: ApiObject | undefined): string {
  return object?.metadata.name ?? stored?.name ?? '';
}

const known: ReadonlySet<string> = new Set(['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized']);

function isReason(text: string): text is StatusReason {
  return known.has(text);
}

function refusalOf(
  { policy, binding, decision }: Denial,
  object: ApiObject | undefined,
  write: ReviewedWrite,
): ApiError {
  const { group, plural } = write.resource.model;
  const name = nameOf(write, object);
  const resource = group === '' ? plural : `${plural}.${group}`;
  const text = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${decision.message}`;
  return new ApiError(
    isReason(decision.reason) ? decision.reason : 'Invalid',
    `${resource} "${name}" is forbidden: ${text}`,
    {
      details: { name, group, kind: plural },
      causes: [{ reason: 'FieldValueInvalid', message: text }],
    },
  );
}
