import type { CallOptions } from '../../api/api.ts';
import { controllerGroup } from '../../state/controllers.ts';
import type { Patched } from './labels.ts';
import type { Row } from './row-table.ts';

/** An action on selected objects, which sends one request for each object. */
export interface BulkAction {
  /** The verb on the button, and in sentences such as `The server would delete 3`. */
  readonly verb: string;
  /** `3 deleted`. */
  readonly done: string;
  /** The permission that the action needs. */
  readonly permission: 'delete' | 'patch';
  readonly isDangerous: boolean;
  readonly note: string;
  readonly callFor: (row: Row) => CallOptions;
}

export const deletion: BulkAction = {
  verb: 'Delete',
  done: 'deleted',
  permission: 'delete',
  isDangerous: true,
  note: 'Objects with finalizers stay until controllers have removed these finalizers.',
  callFor: ({ uid }) => ({
    method: 'DELETE',
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  }),
};

function patching(
  texts: Pick<BulkAction, 'verb' | 'done' | 'note'>,
  metadata: { readonly annotations?: Patched; readonly labels?: Patched },
): BulkAction {
  return {
    ...texts,
    permission: 'patch',
    isDangerous: false,
    callFor: ({ uid }) => ({
      method: 'PATCH',
      contentType: 'application/merge-patch+json',
      body: { metadata: { ...metadata, uid } },
    }),
  };
}

const pausedKey = `${controllerGroup}/paused`;

export const reconcileNow = (request: string): BulkAction =>
  patching(
    {
      verb: 'Reconcile',
      done: 'reconciled now',
      note: 'The controllers of this kind reconcile each object immediately, without waiting for its back-off.',
    },
    { annotations: { [`${controllerGroup}/reconcile-requested-at`]: request } },
  );

export const pausing: BulkAction = patching(
  { verb: 'Pause', done: 'paused', note: 'No controller reconciles the objects until they are resumed.' },
  { annotations: { [pausedKey]: 'true' } },
);

export const resuming: BulkAction = patching(
  { verb: 'Resume', done: 'resumed', note: 'Controllers reconcile the objects again.' },
  { annotations: { [pausedKey]: null } },
);

export const labelling = (labels: Patched): BulkAction =>
  patching({ verb: 'Label', done: 'labelled', note: 'Other labels of the objects stay unchanged.' }, { labels });
