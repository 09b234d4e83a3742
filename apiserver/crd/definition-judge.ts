import { deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { KindJudge } from '../registry/rules/kind-judge.ts';
import { stepsOf } from '../turns/in-turns.ts';
import type { MeasuredWork } from '../turns/in-turns.ts';
import { checkChange, checkDefinitionWrite } from './check-definition-write.ts';
import { checkServable } from './check-servable.ts';
import { definitionModel } from './definition-model.ts';
import type { CustomResourceDefinition } from './definition.ts';

/** The number of units of work in one step. A step takes about 10 ms. */
const workPerStep = 2000;

/**
 * Returns a function that returns the check for writes of CustomResourceDefinitions, and undefined for every other
 * kind. The check covers Kubernetes' rules, the cost of the definition, and the rules for models.
 */
export function definitionJudge(serviceDomain: string): (model: ModelDescriptor) => KindJudge | undefined {
  const { group, kind } = definitionModel;
  const judge: KindJudge = (next, stored) => stepsOf(judgeDefinition(serviceDomain, next, stored), workPerStep);
  return (model) => (model.group === group && model.kind === kind ? judge : undefined);
}

function* judgeDefinition(
  serviceDomain: string,
  object: ApiObject,
  stored: ApiObject | undefined,
): MeasuredWork<readonly FieldViolation[]> {
  // The cast is safe, because the object has already been validated by the schema of its kind.
  const next = object as CustomResourceDefinition;
  const previous = stored as CustomResourceDefinition | undefined;
  if (previous !== undefined && deepEqual(next.spec, previous.spec)) return checkChange(next, previous);
  const violations = yield* checkDefinitionWrite(next, previous);
  return violations.length > 0 ? violations : checkServable(next, serviceDomain);
}
