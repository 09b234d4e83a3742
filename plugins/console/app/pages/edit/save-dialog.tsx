import { useEffect, useState } from 'preact/hooks';
import { differences } from '../../base/differences.ts';
import type { Difference } from '../../base/differences.ts';
import { formatPath } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import type { ApiObject } from '../../base/object.ts';
import { toFailure } from '../../api/failure.ts';
import type { ApiFailure } from '../../api/failure.ts';
import type { Resource } from '../../api/resources.ts';
import { Failure, Loading } from '../../parts/basics.tsx';
import { DiffView } from '../../parts/diff-view.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { editableOf, ownersOfField } from './draft.ts';
import { saveObject } from './save-object.ts';
import type { Saved } from './save-object.ts';
import type { Draft } from './use-draft.ts';

interface Props {
  readonly resource: Resource;
  readonly draft: Draft;
  readonly stored: ApiObject | undefined;
  readonly onClose: () => void;
  readonly onFailure: (failure: ApiFailure) => void;
  readonly onSaved: (saved: Saved) => void;
}

const nothing: JsonObject = {};

/**
 * Shows the object that the server would store, the server's warnings, and other owners of the changed fields. Stores
 * the object when the person confirms.
 */
export function SaveDialog({ resource, draft, stored, onClose, onFailure, onSaved }: Props) {
  const [tried, setTried] = useState<Saved>();
  const [failure, setFailure] = useState<ApiFailure>();
  const run = async (isDryRun: boolean): Promise<void> => {
    try {
      const saved = await saveObject({ resource, draft: draft.value, stored, isDryRun });
      setFailure(undefined);
      if (isDryRun) setTried(saved);
      else onSaved(saved);
    } catch (error) {
      const found = toFailure(error);
      setFailure(found);
      // The form shows the problem of each field beside the field, so the failure is passed to the form.
      if (found.causes.length > 0) onFailure(found);
    }
  };
  useEffect(() => {
    void run(true);
  }, [draft.value, stored?.metadata.resourceVersion]);
  const before = stored === undefined ? nothing : editableOf(stored);
  const changes = tried === undefined ? [] : differences(before, editableOf(tried.object));
  return (
    <Dialog title={stored === undefined ? `Create ${resource.kind}` : 'Save these changes?'} onClose={onClose} isWide>
      {failure === undefined ? null : <Failure failure={failure} onRetry={() => void run(true)} />}
      {tried === undefined && failure === undefined ? <Loading /> : null}
      {tried === undefined ? null : <Tried saved={tried} changes={changes} stored={stored} draft={draft} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Back to the form
        </button>
        <button
          type="button"
          class="button button-primary"
          disabled={tried === undefined || failure !== undefined || changes.length === 0}
          onClick={() => void run(false)}
        >
          {stored === undefined ? 'Create' : 'Save'}
        </button>
      </div>
    </Dialog>
  );
}

interface TriedProps {
  readonly saved: Saved;
  readonly changes: readonly Difference[];
  readonly stored: ApiObject | undefined;
  readonly draft: Draft;
}

function Tried({ saved, changes, stored, draft }: TriedProps) {
  return (
    <div class="stack">
      {saved.warnings.length === 0 ? null : (
        <ul class="warnings">
          {saved.warnings.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
      {changes.length === 0 ? <p>Nothing would change.</p> : <DiffView differences={changes} />}
      {stored === undefined ? null : <Owned changes={changes} stored={stored} draft={draft} />}
    </div>
  );
}

/** Lists the changed fields that other managers apply. These managers may set the fields again. */
function Owned({ changes, stored, draft }: Omit<TriedProps, 'saved' | 'stored'> & { readonly stored: ApiObject }) {
  const owned = changes
    .map((change) => ({ ...change, owners: ownersOfField(stored, change.path) }))
    .filter(({ owners }) => owners.length > 0);
  if (owned.length === 0) return null;
  return (
    <section class="owned">
      <h3>Fields that other managers apply</h3>
      <p class="muted">These managers may set their fields again. Keep your value, or take theirs.</p>
      <ul class="rows-list">
        {owned.map(({ path, before, owners }) => (
          <li key={formatPath(path)}>
            <code>{formatPath(path)}</code>
            <span class="grow">{owners.join(', ')}</span>
            <button type="button" class="button" onClick={() => draft.setField(path, before)}>
              Take theirs
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
