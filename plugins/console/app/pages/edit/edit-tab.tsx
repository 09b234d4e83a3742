import { useEffect, useRef, useState } from 'preact/hooks';
import { formatPath, isEqual } from '../../base/json.ts';
import type { MergeConflict } from '../../base/merge.ts';
import type { ApiObject } from '../../base/object.ts';
import { managersOf } from '../../base/object.ts';
import { textOf } from '../../base/json.ts';
import type { FieldCause } from '../../api/failure.ts';
import { DiffView } from '../../parts/diff-view.tsx';
import { Loading } from '../../parts/basics.tsx';
import { notify } from '../../state/page-state.ts';
import { may } from '../../state/session.ts';
import type { Place } from '../../state/place.ts';
import { editableOf, rebase } from './draft.ts';
import { EditorPanes, schemaOfObject, useSchema } from './editor-panes.tsx';
import { SaveDialog } from './save-dialog.tsx';
import { useDraft } from './use-draft.ts';
import type { Draft } from './use-draft.ts';
import { useLiveCheck } from './use-live-check.ts';
import { useLeaveWarning } from './use-leave-warning.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

/** Edits an object. Changes of others are merged into the draft meanwhile, and nothing that was typed is lost. */
export function EditTab({ place, object }: Props) {
  const { resource } = place;
  const schema = useSchema(resource);
  const draft = useDraft(editableOf(object));
  const [isSaving, setSaving] = useState(false);
  const checked = useLiveCheck({ resource, draft, stored: object });
  const [refused, setRefused] = useState<readonly FieldCause[]>([]);
  // The refusals of a save are out of date as soon as the draft has been tried again.
  useEffect(() => setRefused([]), [checked]);
  const causes = refused.length > 0 ? refused : checked;
  const { conflicts, settle, note } = useMerge(object, draft);
  const isChanged = !isEqual(draft.value, editableOf(object)) || draft.mistake !== undefined;
  useLeaveWarning(isChanged);
  if (schema === undefined) return <Loading />;
  if (!may('update', resource, place.name)) return <p>You may read this object, but not change it.</p>;
  return (
    <div class="stack">
      <div class="line">
        <button
          type="button"
          class="button button-primary"
          disabled={!isChanged || draft.mistake !== undefined || conflicts.length > 0}
          onClick={() => setSaving(true)}
        >
          Review and save
        </button>
        <button type="button" class="button" disabled={!isChanged} onClick={() => draft.setValue(editableOf(object))}>
          Discard
        </button>
        <span class="muted" role="status">
          {note}
        </span>
      </div>
      <Conflicts conflicts={conflicts} draft={draft} onSettled={settle} />
      <EditorPanes {...{ draft, causes }} schema={schemaOfObject(schema, resource, place.name)} isNew={false} />
      {isSaving ? (
        <SaveDialog
          {...{ resource, draft, stored: object }}
          onClose={() => setSaving(false)}
          onFailure={(failure) => {
            setRefused(failure.causes);
            setSaving(false);
            notify('bad', failure.message);
          }}
          onSaved={({ object: saved }) => {
            setRefused([]);
            setSaving(false);
            draft.setValue(editableOf(saved));
            notify('good', `${place.name} is saved`);
          }}
        />
      ) : null}
    </div>
  );
}

interface Merge {
  readonly conflicts: readonly MergeConflict[];
  readonly settle: (conflict: MergeConflict) => void;
  /** A message that names the merged fields. */
  readonly note: string;
}

/** Merges each change of the stored object into the draft. */
function useMerge(object: ApiObject, draft: Draft): Merge {
  const base = useRef(editableOf(object));
  const [conflicts, setConflicts] = useState<readonly MergeConflict[]>([]);
  const [note, setNote] = useState('');
  useEffect(() => {
    const theirs = editableOf(object);
    if (isEqual(theirs, base.current)) return;
    const result = rebase(draft.value, base.current, theirs);
    base.current = theirs;
    if (result.taken.length > 0) draft.setValue(result.draft);
    if (result.conflicts.length > 0) setConflicts((old) => [...old, ...result.conflicts]);
    if (result.taken.length > 0)
      setNote(`Merged what ${writerOf(object)} changed: ${result.taken.map(formatPath).join(', ')}`);
  }, [object]);
  return { conflicts, note, settle: (conflict) => setConflicts((old) => old.filter((each) => each !== conflict)) };
}

/** The manager that wrote last. */
function writerOf(object: ApiObject): string {
  const entries = managersOf(object).map(({ manager, time }) => [textOf(time), textOf(manager)] as const);
  return entries.sort(([a], [b]) => b.localeCompare(a))[0]?.[1] ?? 'another client';
}

interface ConflictsProps {
  readonly conflicts: readonly MergeConflict[];
  readonly draft: Draft;
  readonly onSettled: (conflict: MergeConflict) => void;
}

/** Fields that both sides changed: the person chooses. */
function Conflicts({ conflicts, draft, onSettled }: ConflictsProps) {
  if (conflicts.length === 0) return null;
  return (
    <section class="failure" aria-label="Conflicts" role="alert">
      <p class="failure-title">Others changed the same fields meanwhile</p>
      {conflicts.map((conflict) => (
        <div key={formatPath(conflict.path)} class="conflict">
          <DiffView differences={[{ path: conflict.path, before: conflict.theirs, after: conflict.mine }]} />
          <div class="line">
            <button type="button" class="button" onClick={() => onSettled(conflict)}>
              Keep mine
            </button>
            <button
              type="button"
              class="button"
              onClick={() => {
                draft.setField(conflict.path, conflict.theirs);
                onSettled(conflict);
              }}
            >
              Take theirs
            </button>
          </div>
        </div>
      ))}
    </section>
  );
}
