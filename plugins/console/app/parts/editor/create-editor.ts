import { autocompletion, completionKeymap } from '@codemirror/autocomplete';
import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { forceLinting, lintGutter, linter, lintKeymap } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, StateEffect } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Completion, Mistake } from '../../base/mistake.ts';

export interface EditorParts {
  readonly label: string;
  readonly isReadOnly: boolean;
  readonly onChange: (text: string) => void;
  /** Returns the possible continuations of the text before the cursor. */
  readonly complete: (before: string) => Completion | undefined;
  readonly check: (text: string) => readonly Mistake[];
}

export interface Editor {
  /** Replaces the text of the editor, unless `text` is equal to it. Does not call `onChange`. */
  setText(text: string): void;
  /** Checks the text again, because its mistakes may differ although the text has not changed. */
  recheck(): void;
  destroy(): void;
}

const colours = EditorView.theme({
  '&': { backgroundColor: 'var(--bg-card)', color: 'var(--text)', fontSize: '12.5px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--bg-sunken)', color: 'var(--text-2)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'var(--bg-sunken)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--bg-hover)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-tooltip': { backgroundColor: 'var(--bg-card)', color: 'var(--text)', border: '1px solid var(--border)' },
  '.cm-panels': { backgroundColor: 'var(--bg-side)', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--focus)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
});

/** The colours of the editor, for the light and the dark theme. */
const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent-text)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--busy)' },
  { tag: [tags.comment, tags.meta, tags.punctuation], color: 'var(--text-2)' },
]);

const recheck = StateEffect.define();

/**
 * Creates an editor in a shadow root. There, its styles are style sheet objects: the page does not allow inline styles.
 */
export function createEditor(host: HTMLElement, parts: EditorParts): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const parent = document.createElement('div');
  root.replaceChildren(parent);
  let isSetting = false;
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      extensions: [
        ...extensionsOf(parts),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isSetting) parts.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText: (text) => {
      const old = view.state.doc.toString();
      if (old === text) return;
      isSetting = true;
      view.dispatch({ changes: changeBetween(old, text) });
      isSetting = false;
    },
    recheck: () => {
      view.dispatch({ effects: recheck.of(null) });
      forceLinting(view);
    },
    destroy: () => view.destroy(),
  };
}

/**
 * Returns the shortest replacement that turns the old text into the new one, so that the cursor stays where the text
 * does not change.
 */
function changeBetween(
  old: string,
  text: string,
): { readonly from: number; readonly to: number; readonly insert: string } {
  const shorter = Math.min(old.length, text.length);
  let from = 0;
  while (from < shorter && old[from] === text[from]) from += 1;
  let end = 0;
  while (end < shorter - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  return { from, to: old.length - end, insert: text.slice(from, text.length - end) };
}

/**
 * Replaces a selection by the typed text. By default, chromium keeps the style of the replaced text as an inline style,
 * which the policy of the page blocks and reports.
 */
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data }, view) => {
    const { state } = view;
    if (inputType !== 'insertText' || data === null || state.selection.main.empty) return false;
    if (!state.readOnly) view.dispatch(state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

function extensionsOf({ label, isReadOnly, complete, check }: EditorParts) {
  const completeAt = (context: CompletionContext): CompletionResult | null => {
    const found = complete(context.state.sliceDoc(0, context.pos));
    if (found === undefined || (found.word === '' && !context.explicit)) return null;
    return { from: context.pos - found.word.length, options: [...found.options] };
  };
  return [
    lineNumbers(),
    foldGutter(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    yaml(),
    syntaxHighlighting(highlight),
    autocompletion({ override: [completeAt] }),
    lintGutter(),
    linter(
      ({ state: { doc } }) =>
        check(doc.toString()).map(({ line, message }) => {
          const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
          return { from, to, severity: 'error', message };
        }),
      {
        needsRefresh: ({ transactions }) =>
          transactions.some(({ effects }) => effects.some((each) => each.is(recheck))),
      },
    ),
    // Tab is not bound, so that people can leave the editor by keyboard.
    keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap]),
    typeOverSelection,
    EditorState.readOnly.of(isReadOnly),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    colours,
  ];
}
