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

/** The parts of a kind that its rules need. */
export interface Rules {
  readonly model: ModelDescriptor;
  readonly schema: ObjectSchema;
  /** The schema's rules in CEL; undefined when it has none. */
  readonly judgeExpressions?: ExpressionJudge | undefined;
  /** The model's own rules, for objects that are otherwise valid. */
  readonly validateModel: ModelValidator | undefined;
  /** The rules of a built-in kind whose objects may take long to check, in place of {@link validateModel}. */
  readonly judge?: JudgedRules | undefined;
  /** The strategy of a built-in kind that has rules of its own. */
  readonly strategy?: KindStrategy | undefined;
  /** Set for a kind with several versions: returns the changes of a write as another version names them. */
  readonly changesIn?: (apiVersion: string, states: States) => Steps<FieldChanges | undefined> | undefined;
}

/**
 * A part of an object that is written by itself; `finalize` is for built-in kinds that have it, `scale` is only
 * recorded in managedFields.
 */
export type Subresource = 'status' | 'finalize' | 'scale';

/** The parameters of a write besides its object. */
export interface WriteRequest extends LabelKeyRules {
  /** The name in the path; undefined for a creation, whose body names the object. */
  readonly name: string | undefined;
  /** The namespace in the path; undefined for Cluster-scoped kinds. */
  readonly namespace: string | undefined;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  /** Server time, RFC 3339 with whole seconds. */
  readonly now: string;
  /** The warnings of the response; the write adds its own. */
  readonly warnings: string[];
  readonly subresource: Subresource | undefined;
  /** The field manager of the write, as in managedFields. */
  readonly fieldManager: string;
  /**
   * True when the write may take milliseconds: each step then runs in its own turn. Other writes run without a pause.
   */
  readonly isLong: boolean;
}

/** The fields of an object whose types are not checked yet. */
export type ObjectDraft = { -readonly [K in keyof ApiObject]: ApiObject[K] } & {
  status?: unknown;
  [field: string]: unknown;
};

export interface CreateRequest extends WriteRequest {
  readonly uid: string;
  /** Returns a name for a generateName. */
  readonly draw: (base: string) => string;
  /** The owners of the fields when the creator does not own all of them (server-side apply). */
  readonly managedFields: ManagedFields | undefined;
}
