import { useLayoutEffect, useState } from 'preact/hooks';
import { formatPath, isEqual, isObject, withValueAt } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import type { MergeConflict } from '../../base/merge.ts';
import { keepDraft, leftDraft } from '../../state/left-drafts.ts';
import type { LeftDraft } from '../../state/left-drafts.ts';
import { rebase } from './draft.ts';
import { formatText, parseText } from './object-text.ts';
import type { TextFormat } from './object-text.ts';

export interface Draft extends LeftDraft {
  readonly isChanged: boolean;
  readonly setFormat: (format: TextFormat) => void;
  readonly setText: (text: string) => void;
  readonly setField: (path: Path, value: Json | undefined) => void;
  /** Merges the stored changes of `writer` into this draft. A draft whose text cannot be parsed stays unchanged. */
  readonly merge: (stored: JsonObject, writer: string) => void;
  readonly settle: (conflict: MergeConflict) => void;
  /** Replaces the whole draft by a stored state. */
  readonly restart: (value: JsonObject) => void;
  /** Forgets the draft, because it has been saved. */
  readonly forget: () => void;
}

/**
 * Returns the draft of an object, which a person edits as a form or as a text: a change of the form changes the text,
 * and vice versa. With a key, a draft that is not saved is restored when the person comes back to the page.
 */
export function useDraft(initial: JsonObject, key = ''): Draft {
  const [state, setState] = useState(() => leftDraft(key) ?? unchanged(initial, 'yaml'));
  const isChanged = state.mistake !== undefined || !isEqual(state.value, state.base);
  const keep = (draft: LeftDraft | undefined): void => (key === '' ? undefined : keepDraft(key, draft));
  // A layout effect runs at once: the person may leave the page before the next frame.
  useLayoutEffect(() => keep(isChanged ? state : undefined), [key, state]);
  return {
    ...state,
    isChanged,
    setFormat: (format) => setState((old) => withValue({ ...old, format }, old.value)),
    setText: (text) => {
      const parsed = parseText(text);
      if ('object' in parsed) setState((old) => ({ ...withValue(old, parsed.object), text }));
      else setState((old) => ({ ...old, text, mistake: parsed.mistake }));
    },
    setField: (path, value) =>
      setState((old) => {
        const changed = withValueAt(old.value, path, value);
        return isObject(changed) ? withValue(old, changed) : old;
      }),
    merge: (stored, writer) => setState((old) => merged(old, stored, writer)),
    settle: (conflict) => setState((old) => ({ ...old, conflicts: old.conflicts.filter((each) => each !== conflict) })),
    restart: (value) => setState(({ format }) => unchanged(value, format)),
    forget: () => keep(undefined),
  };
}

function unchanged(value: JsonObject, format: TextFormat): LeftDraft {
  return { value, format, text: formatText(value, format), mistake: undefined, base: value, conflicts: [], note: '' };
}

function withValue(draft: LeftDraft, value: JsonObject): LeftDraft {
  return { ...draft, value, text: formatText(value, draft.format), mistake: undefined };
}

function merged(draft: LeftDraft, stored: JsonObject, writer: string): LeftDraft {
  if (draft.mistake !== undefined || isEqual(stored, draft.base)) return draft;
  const { draft: value, conflicts, taken } = rebase(draft.value, draft.base, stored);
  const next = { ...draft, base: stored, conflicts: [...draft.conflicts, ...conflicts] };
  if (taken.length === 0) return next;
  return { ...withValue(next, value), note: `Merged the changes of ${writer}: ${taken.map(formatPath).join(', ')}` };
}
