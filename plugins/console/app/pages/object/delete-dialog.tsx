import { useEffect, useState } from 'preact/hooks';
import { textsIn, uidOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { toFailure } from '../../api/failure.ts';
import type { ApiFailure } from '../../api/failure.ts';
import { pathOf } from '../../api/resources.ts';
import { Failure } from '../../parts/basics.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { notify } from '../../state/page-state.ts';
import { api } from '../../state/session.ts';
import type { Place } from '../../state/place.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
  readonly onClose: () => void;
}

/** Asks for confirmation of a delete, after a dry run has shown that the server allows it. */
export function DeleteDialog({ place, object, onClose }: Props) {
  const { resource, namespace, name } = place;
  const [failure, setFailure] = useState<ApiFailure>();
  const [isTried, setTried] = useState(false);
  const finalizers = textsIn(object.metadata.finalizers);
  const run = async (dryRun: 'All' | undefined): Promise<boolean> => {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: uidOf(object) } };
    try {
      await api.call(pathOf(resource, namespace, name), { method: 'DELETE', query: { dryRun }, body });
      return true;
    } catch (error) {
      setFailure(toFailure(error));
      return false;
    }
  };
  useEffect(() => {
    void run('All').then(setTried);
  }, []);
  const confirm = async (): Promise<void> => {
    if (!(await run(undefined))) return;
    notify('good', `${name} ${finalizers.length === 0 ? 'is deleted' : 'is being deleted'}`);
    onClose();
  };
  return (
    <Dialog title={`Delete ${resource.kind} ${name}?`} onClose={onClose}>
      {failure === undefined ? null : <Failure failure={failure} />}
      {finalizers.length === 0 ? (
        <p>The object is removed at once, with the objects that it owns.</p>
      ) : (
        <p>
          The object stays until its controllers have cleaned up: {finalizers.join(', ')}. The summary shows the cause
          of the wait.
        </p>
      )}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button button-danger" disabled={!isTried} onClick={() => void confirm()}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
