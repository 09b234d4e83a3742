import { setCondition } from '@homeostat/controller-runtime/api';
import type { Condition, NewCondition } from '@homeostat/controller-runtime/api';
import type { CustomResourceDefinition, DefinitionNames, DefinitionStatus } from './definition.ts';
import type { ServingOutcome } from './served-definitions.ts';

/** Returns the status of a definition; `now` is a time of RFC 3339. */
export function statusOf(definition: CustomResourceDefinition, outcome: ServingOutcome, now: string): DefinitionStatus {
  const { spec, status } = definition;
  const stored = spec.versions.filter(({ storage }) => storage).map(({ name }) => name);
  return {
    conditions: conditionsOf(definition, outcome).reduce<readonly Condition[]>(
      (conditions, condition) => setCondition(conditions, condition, now),
      status?.conditions ?? [],
    ),
    acceptedNames:
      outcome.kind === 'conflict' ? (status?.acceptedNames ?? { plural: '', kind: '' }) : completeNames(spec.names),
    storedVersions: [...new Set([...(status?.storedVersions ?? []), ...stored])],
  };
}

/** Returns the status of a definition whose objects are being deleted. */
export function terminatingStatus({ status }: CustomResourceDefinition, now: string): DefinitionStatus {
  const message = 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon';
  const condition: NewCondition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionInProgress',
    message,
  };
  return { ...status, conditions: setCondition(status?.conditions, condition, now) };
}

function completeNames(names: DefinitionNames): DefinitionNames {
  return { singular: names.kind.toLowerCase(), listKind: `${names.kind}List`, ...names };
}

function conditionsOf(definition: CustomResourceDefinition, outcome: ServingOutcome): readonly NewCondition[] {
  return [namesAccepted(outcome), established(outcome), ...supported(definition)];
}

function namesAccepted(outcome: ServingOutcome): NewCondition {
  const type = 'NamesAccepted';
  if (outcome.kind === 'conflict') return { type, status: 'False', reason: outcome.reason, message: outcome.message };
  return { type, status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
}

function established(outcome: ServingOutcome): NewCondition {
  const type = 'Established';
  switch (outcome.kind) {
    case 'served':
      return { type, status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' };
    case 'conflict':
      return { type, status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
    case 'refused':
      return { type, status: 'False', reason: 'NotServed', message: outcome.message };
  }
}

/** Returns a condition for parts of a definition without effect on this server; none when all parts have, and always had, an effect. */
function supported(definition: CustomResourceDefinition): readonly NewCondition[] {
  const type = 'FullySupported';
  const limits = limitsOf(definition);
  if (limits.length > 0) return [{ type, status: 'False', reason: 'PartlySupported', message: limits.join('; ') }];
  const had = definition.status?.conditions?.some((condition) => condition.type === type) === true;
  return had ? [{ type, status: 'True', reason: 'Supported', message: '' }] : [];
}

function limitsOf({ spec }: CustomResourceDefinition): readonly string[] {
  const schemas = spec.versions.filter(({ served }) => served).map(({ schema }) => schema);
  const hasRules = JSON.stringify(schemas).includes('"x-kubernetes-validations":');
  return hasRules ? ['rules of x-kubernetes-validations are not enforced'] : [];
}
