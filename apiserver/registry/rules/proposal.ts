import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { PropagationPolicy } from '../../index/propagation.ts';
import type { FieldManagement } from './field-management.ts';
import type { CreateRequest, Draft, WriteRequest } from './write-request.ts';

/** The state that a write asks for, before hooks and rules have judged it. */
export type Proposal = CreateProposal | UpdateProposal | DeleteProposal;

export interface CreateProposal {
  readonly verb: 'create';
  /** `update` where the new object replaces one that cannot be read. */
  readonly op: 'create' | 'update';
  readonly request: CreateRequest;
  /** The next state, shaped by the schema. The proposal's own. */
  readonly object: Draft;
  /** The server chose the name, from generateName. */
  readonly isNameDrawn: boolean;
}

export interface UpdateProposal {
  readonly verb: 'update';
  readonly request: WriteRequest;
  /** The next state, shaped by the schema. The proposal's own. */
  readonly object: Draft;
  readonly stored: ApiObject;
  readonly manage: FieldManagement;
}

export interface DeleteProposal {
  readonly verb: 'delete';
  readonly request: Pick<WriteRequest, 'now' | 'isLong'>;
  /** The stored state. */
  readonly object: ApiObject;
  /** What the request asks to be done with dependents, if anything. */
  readonly policy: PropagationPolicy | undefined;
}

/** The state that a write leads to, by all rules, and the operation of the store that makes it so. */
export interface NextState {
  readonly op: 'create' | 'update' | 'delete';
  readonly object: ApiObject;
}
