import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { FieldChanges } from '../../apply/compare-fields.ts';
import type { ManagedFields } from '../../apply/managed-fields.ts';
import type { ObjectSchema } from '../../schema/compile-schema.ts';
import type { States } from '../object/states.ts';
import type { KindStrategy } from './kind-strategy.ts';
import type { LabelKeyRules } from '../object/label-keys.ts';
import type { JudgedRules, ModelValidator } from './model-validator.ts';

/** What the rules need to know of a kind. */
export interface Rules {
  readonly model: ModelDescriptor;
  readonly schema: ObjectSchema;
  /** The model's own rules, for objects that are valid otherwise. */
  readonly validateModel: ModelValidator | undefined;
  /** The same of a built-in kind whose objects may take long to judge. */
  readonly judge?: JudgedRules | undefined;
  /** The strategy of a built-in kind that has rules of its own. */
  readonly strategy?: KindStrategy | undefined;
  /** For a kind with several versions: returns the changes of a write as another version names them. */
  readonly changesIn?: (states: States, apiVersion: string) => FieldChanges | undefined;
}

/** What of an object is written by itself; `finalize` is for built-in kinds that have it, `scale` names only who wrote. */
export type Subresource = 'status' | 'finalize' | 'scale';

/** What a write was asked to do besides its object. */
export interface WriteRequest extends LabelKeyRules {
  /** From the path; absent for a creation, whose body names the object. */
  readonly name?: string;
  /** From the path; absent for Cluster-scoped kinds. */
  readonly namespace?: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  /** Server time, RFC 3339 with whole seconds. */
  readonly now: string;
  /** Collects warnings for the answer. */
  readonly warn: (message: string) => void;
  readonly subresource?: Subresource;
  /** The field manager of the write, as in managedFields. */
  readonly fieldManager: string;
}

/** The fields of an object, before its types are known to be right. */
export type Draft = { -readonly [K in keyof ApiObject]: ApiObject[K] } & { status?: unknown; [field: string]: unknown };

/** What a write amounts to. `none`: nothing changes, and the stored object is the answer. */
export type Decision =
  | { readonly kind: 'none' }
  | { readonly kind: 'write'; readonly object: ApiObject }
  | { readonly kind: 'remove'; readonly object: ApiObject };

export interface CreateRequest extends WriteRequest {
  readonly uid: string;
  /** A name for a generateName. */
  readonly draw: (base: string) => string;
  /** The owners of the fields when the creator does not own all of them (server-side apply). */
  readonly managedFields?: ManagedFields;
}

/** Returns the list for the warnings of one decision. A write that is decided again does not repeat earlier warnings. */
export function emptyWarnings({ warnings = [] }: { readonly warnings?: string[] }): string[] {
  warnings.length = 0;
  return warnings;
}
