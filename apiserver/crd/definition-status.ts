import { setCondition } from '@homeostat/controller-runtime/api';
import type { Condition, NewCondition } from '@homeostat/controller-runtime/api';
import { completeNames } from './complete-names.ts';
import type { CustomResourceDefinition, DefinitionStatus } from './definition.ts';
import type { ServingOutcome as Outcome } from './served-definitions.ts';

/**
 * An outcome that can be written to the status, because it is the same on all replicas, and does not change by itself.
 */
type ServingOutcome = Exclude<Outcome, { readonly kind: 'unconverted' }>;

/** Returns the status of a definition; `now` is a time of RFC 3339. */
export function statusOf(definition: CustomResourceDefinition, outcome: ServingOutcome, now: string): DefinitionStatus {
  const { spec, status } = definition;
  const stored = spec.versions.filter(({ storage }) => storage).map(({ name }) => name);
  return {
    conditions: conditionsOf(outcome).reduce<readonly Condition[]>(
      (conditions, condition) => setCondition(conditions, condition, now),
      // Older versions of the server set this condition for definitions with rules, because they did not enforce rules.
      // The condition is removed.
      (status?.conditions ?? []).filter(({ type }) => type !== 'FullySupported'),
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

function conditionsOf(outcome: ServingOutcome): readonly NewCondition[] {
  return [namesAccepted(outcome), established(outcome)];
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
