import { autocompletion, completionKeymap } from '@codemirror/autocomplete';
import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { linter, lintKeymap } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Mistake } from '../../base/mistake.ts';

export interface EditorOptions {
  readonly label: string;
  readonly isReadOnly: boolean;
  readonly onChange: (text: string) => void;
  readonly words: () => readonly string[];
  readonly check: (text: string) => Mistake | undefined;
}

export interface Editor {
  /** Replaces the text, unless it is the same. Does not call `onChange`. */
  setText(text: string): void;
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

/** The colours of the theme, for both day and night. */
const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent-text)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--busy)' },
  { tag: [tags.comment, tags.meta, tags.punctuation], color: 'var(--text-2)' },
]);

/** An editor in a shadow root: there, its styles are objects and no inline style, which the page does not allow. */
export function createEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const parent = document.createElement('div');
  root.replaceChildren(parent);
  let isSetting = false;
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      extensions: [
        ...extensionsOf(options),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isSetting) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText: (text) => {
      if (view.state.doc.toString() === text) return;
      isSetting = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isSetting = false;
    },
    destroy: () => view.destroy(),
  };
}

function extensionsOf({ label, isReadOnly, words, check }: EditorOptions) {
  const complete = (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/[\w-]+/);
    if (word === null && !context.explicit) return null;
    return { from: word?.from ?? context.pos, options: words().map((each) => ({ label: each, apply: `${each}: ` })) };
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
    autocompletion({ override: [complete] }),
    linter((shown) => {
      const mistake = check(shown.state.doc.toString());
      if (mistake === undefined) return [];
      const { from, to } = shown.state.doc.line(Math.min(Math.max(1, mistake.line), shown.state.doc.lines));
      return [{ from, to, severity: 'error', message: mistake.message }];
    }),
    // Tab stays free for the way out by keyboard.
    keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap]),
    EditorState.readOnly.of(isReadOnly),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    colours,
  ];
}
