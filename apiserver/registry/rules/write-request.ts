import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { FieldChanges } from '../../apply/compare-fields.ts';
import type { ManagedFields } from '../../apply/managed-fields.ts';
import type { ObjectSchema } from '../../schema/compile-schema.ts';
import type { Steps } from '../../turns/steps.ts';
import type { States } from '../object/states.ts';
import type { KindStrategy } from './kind-strategy.ts';
import type { ExpressionJudge } from './expression-judge.ts';
import type { LabelKeyRules } from '../object/label-keys.ts';
import type { JudgedRules, ModelValidator } from './model-validator.ts';

/** The model of a kind in one version, with the checks of writes that are derived from it. */
export interface Rules {
  readonly model: ModelDescriptor;
  readonly schema: ObjectSchema;
  /** Evaluates the CEL rules of the schema; undefined when it has none. */
  readonly judgeExpressions?: ExpressionJudge | undefined;
  /** Checks an object with the model's `validate`, after the other rules of the kind have accepted the object. */
  readonly validateModel: ModelValidator | undefined;
  /** Replaces {@link validateModel} for a built-in kind whose objects may take long to check. */
  readonly judge?: JudgedRules | undefined;
  /** The strategy of a built-in kind with additional rules. */
  readonly strategy?: KindStrategy | undefined;
  /**
   * Returns the fields that a write changes, with their names in another version. Only kinds with several versions have
   * this function.
   */
  readonly changesIn?: (apiVersion: string, states: States) => Steps<FieldChanges | undefined> | undefined;
}

/**
 * A part of an object that has its own path for writes. Only some built-in kinds have `finalize`. The rules treat a
 * write to `scale` like a patch of the object; hooks, webhooks, policies and managedFields get the name of the
 * subresource.
 */
export type Subresource = 'status' | 'finalize' | 'scale';

/** The parameters of a write in addition to its object. */
export interface WriteRequest extends LabelKeyRules {
  /** The name in the path; undefined for a POST, whose body names the object. */
  readonly name: string | undefined;
  /** The namespace in the path; undefined for Cluster-scoped kinds. */
  readonly namespace: string | undefined;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  /** The server's time in RFC 3339, with whole seconds. */
  readonly now: string;
  /** The warnings of the response, to which the write adds its own. */
  readonly warnings: string[];
  readonly subresource: Subresource | undefined;
  /** The name of the field manager that the write has in managedFields. */
  readonly fieldManager: string;
  /**
   * True when the write may take milliseconds. Then each of its steps runs in a separate turn of the event loop. Other
   * writes run without a pause.
   */
  readonly isLong: boolean;
}

/** A requested object. The types of its fields are not checked yet. */
export type ObjectDraft = { -readonly [K in keyof ApiObject]: ApiObject[K] } & {
  status?: unknown;
  [field: string]: unknown;
};

export interface CreateRequest extends WriteRequest {
  readonly uid: string;
  /** Generates a name that begins with `base`, the generateName of the object. */
  readonly draw: (base: string) => string;
  /** The owners of the fields when the creator does not own all fields (server-side apply); otherwise undefined. */
  readonly managedFields: ManagedFields | undefined;
}
