import { useEffect, useState } from 'preact/hooks';
import { managersOf, uidOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { formatPath, numberOf, textOf } from '../../base/json.ts';
import type { FieldCause } from '../../api/failure.ts';
import { DiffView } from '../../parts/diff-view.tsx';
import { Loading } from '../../parts/basics.tsx';
import { browserClock } from '../../base/time.ts';
import { notify } from '../../state/page-state.ts';
import { may } from '../../state/session.ts';
import type { Place } from '../../state/place.ts';
import { editableOf } from './draft.ts';
import { EditorPanes, schemaOfObject, useSchema } from './editor-panes.tsx';
import { SaveDialog } from './save-dialog.tsx';
import { useDraft } from './use-draft.ts';
import type { Draft } from './use-draft.ts';
import { useLiveCheck } from './use-live-check.ts';

/** The pause in typing after which the changes of others are merged. */
const pauseMs = 500;

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

interface Editing {
  readonly draft: Draft;
  /** The newest known state of the object. */
  readonly object: ApiObject;
  readonly causes: readonly FieldCause[];
  readonly setRefused: (causes: readonly FieldCause[]) => void;
  readonly setSaved: (object: ApiObject) => void;
  /** Merges the changes of others into the draft. */
  readonly merge: () => void;
}

/** The draft of an object, with the server's messages about it, and with the changes that others make meanwhile. */
function useEditing({ place: { resource }, object: followed }: Props): Editing {
  const [saved, setSaved] = useState(followed);
  // The watch may show the saved state only a moment later, so the newer of the two states is used.
  const object = numberOf(saved.metadata.version) > numberOf(followed.metadata.version) ? saved : followed;
  const draft = useDraft(editableOf(object), uidOf(object));
  const checked = useLiveCheck({ resource, draft, stored: object });
  const [refused, setRefused] = useState<readonly FieldCause[]>([]);
  // The messages of a newer dry run replace the messages of a refused save.
  useEffect(() => setRefused([]), [checked]);
  const merge = (): void => draft.merge(editableOf(object), writerOf(object));
  // The changes of others are not merged while the person types, so that no text changes under the cursor. If the text
  // cannot be parsed, the changes are merged after the person has corrected the text.
  const isTyping = useTyping(draft.text);
  const isReadable = draft.mistake === undefined;
  useEffect(() => (isTyping ? undefined : merge()), [object, isReadable, isTyping]);
  return { draft, object, causes: refused.length > 0 ? refused : checked, setRefused, setSaved, merge };
}

/** The tab in which a person edits an object. It merges changes of others into the draft, and no typed text is lost. */
export function EditTab(props: Props) {
  const { resource, name } = props.place;
  const schema = useSchema(resource);
  const { draft, object, causes, setRefused, setSaved, merge } = useEditing(props);
  const [isSaving, setSaving] = useState(false);
  const { isChanged, conflicts, note } = draft;
  if (schema === undefined) return <Loading />;
  if (!may('update', resource, name)) return <p>You may read this object, but not change it.</p>;
  return (
    <div class="stack">
      <div class="line">
        <button
          type="button"
          class="button button-primary"
          disabled={!isChanged || draft.mistake !== undefined || conflicts.length > 0}
          onClick={() => {
            merge();
            setSaving(true);
          }}
        >
          Review and save
        </button>
        <button type="button" class="button" disabled={!isChanged} onClick={() => draft.restart(editableOf(object))}>
          Discard
        </button>
        <span class="muted" role="status">
          {note}
        </span>
      </div>
      <Conflicts draft={draft} />
      <EditorPanes {...{ draft, causes }} schema={schemaOfObject(schema, resource, name)} isNew={false} />
      {isSaving && conflicts.length === 0 ? (
        <SaveDialog
          {...{ resource, draft, stored: object }}
          onClose={() => setSaving(false)}
          onFailure={(failure) => {
            setRefused(failure.causes);
            setSaving(false);
            notify('bad', failure.message);
          }}
          onSaved={({ object: stored }) => {
            setSaved(stored);
            setRefused([]);
            setSaving(false);
            draft.restart(editableOf(stored));
            notify('good', `${name} is saved`);
          }}
        />
      ) : null}
    </div>
  );
}

/** True until the text has stayed the same for a moment. */
function useTyping(text: string): boolean {
  const [isTyping, setTyping] = useState(false);
  useEffect(() => {
    setTyping(true);
    return browserClock.after(pauseMs, () => setTyping(false));
  }, [text]);
  return isTyping;
}

/** Returns the field manager that wrote the object last. */
function writerOf(object: ApiObject): string {
  const entries = managersOf(object).map(({ manager, time }) => [textOf(time), textOf(manager)] as const);
  return entries.sort(([a], [b]) => b.localeCompare(a))[0]?.[1] ?? 'another client';
}

/** Lists the fields that both the person and another client changed. For each, the person chooses one of the values. */
function Conflicts({ draft }: { readonly draft: Draft }) {
  const { conflicts, settle } = draft;
  if (conflicts.length === 0) return null;
  return (
    <section class="failure" aria-label="Conflicts" role="alert">
      <p class="failure-title">Others changed the same fields meanwhile</p>
      {conflicts.map((conflict) => (
        <div key={formatPath(conflict.path)} class="conflict">
          <DiffView differences={[{ path: conflict.path, before: conflict.theirs, after: conflict.mine }]} />
          <div class="line">
            <button type="button" class="button" onClick={() => settle(conflict)}>
              Keep mine
            </button>
            <button
              type="button"
              class="button"
              onClick={() => {
                draft.setField(conflict.path, conflict.theirs);
                settle(conflict);
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
