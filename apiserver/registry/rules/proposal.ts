import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { PropagationPolicy } from '../../index/propagation.ts';
import type { FieldManagement } from './field-management.ts';
import type { CreateRequest, ObjectDraft, WriteRequest } from './write-request.ts';

/** The state that a write requests, before hooks and rules have checked it. */
export type Proposal = CreateProposal | UpdateProposal | DeleteProposal;

export interface CreateProposal {
  readonly verb: 'create';
  /**
   * The operation that the store executes: usually `create`; `update` when the new object replaces a stored object that
   * cannot be read.
   */
  readonly op: 'create' | 'update';
  readonly request: CreateRequest;
  /** The next state, with the schema's defaults and without unknown fields. The rules may modify it. */
  readonly object: ObjectDraft;
  /** True when the server chose the name, from generateName. */
  readonly isNameDrawn: boolean;
}

export interface UpdateProposal {
  readonly verb: 'update';
  readonly request: WriteRequest;
  /** The next state, with the schema's defaults and without unknown fields. The rules may modify it. */
  readonly object: ObjectDraft;
  readonly stored: ApiObject;
  readonly manage: FieldManagement;
}

export interface DeleteProposal {
  readonly verb: 'delete';
  readonly request: Pick<WriteRequest, 'now' | 'isLong'>;
  /** The stored state of the object to delete. */
  readonly object: ApiObject;
  /** The policy that the request names for dependents, if any. */
  readonly policy: PropagationPolicy | undefined;
}

/** The state that a write stores, after all rules, and the store operation that commits it. */
export interface NextState {
  readonly op: 'create' | 'update' | 'delete';
  readonly object: ApiObject;
}
