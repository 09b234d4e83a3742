import { deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { KindJudge } from '../registry/kind-judge.ts';
import { atOnce, inTurns } from '../schema/in-turns.ts';
import { checkChange, checkDefinitionWrite } from './check-definition-write.ts';
import { checkServable } from './check-servable.ts';
import { definitionModel } from './definition-model.ts';
import type { CustomResourceDefinition } from './definition.ts';

/** 10 ms. */
const workPerTurn = 2000;

/** Judges definitions as they are written: by Kubernetes' rules, and by what they cost. Undefined for every other kind. */
export function definitionJudge(serviceDomain: string): (model: ModelDescriptor) => KindJudge | undefined {
  const judge = new DefinitionJudge(serviceDomain);
  const { group, kind } = definitionModel;
  return (model) => (model.group === group && model.kind === kind ? judge : undefined);
}

class DefinitionJudge implements KindJudge {
  readonly #serviceDomain: string;
  /** Of definitions that were examined and not written yet. */
  readonly #examined = new WeakMap<object, readonly FieldViolation[]>();

  constructor(serviceDomain: string) {
    this.#serviceDomain = serviceDomain;
  }

  async examine(next: ApiObject, stored: ApiObject | undefined): Promise<void> {
    this.#examined.set(next, await inTurns(this.#check(next, stored), workPerTurn));
  }

  violations(next: ApiObject, stored: ApiObject | undefined): readonly FieldViolation[] {
    return this.#examined.get(next) ?? atOnce(this.#check(next, stored));
  }

  *#check(object: ApiObject, stored: ApiObject | undefined): Generator<number, readonly FieldViolation[]> {
    // The schema of the kind was kept before.
    const next = object as CustomResourceDefinition;
    const previous = stored as CustomResourceDefinition | undefined;
    // Its status, or its metadata, is written.
    if (previous !== undefined && deepEqual(next.spec, previous.spec)) return checkChange(next, previous);
    const violations = yield* checkDefinitionWrite(next, previous);
    return violations.length > 0 ? violations : checkServable(next, this.#serviceDomain);
  }
}
