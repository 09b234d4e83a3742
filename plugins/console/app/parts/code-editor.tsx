import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Completion, Mistake } from '../base/mistake.ts';
import type { Editor } from './editor/create-editor.ts';

interface Props {
  readonly value: string;
  readonly label: string;
  /** Called for each change that the person makes; absent for a text that can only be read. */
  readonly onChange?: (text: string) => void;
  /** Returns the suggestions for the text before the cursor, while the person types. */
  readonly complete?: (before: string) => Completion | undefined;
  /** Returns the mistakes in the text. Called again when the function is replaced. */
  readonly check?: (text: string) => readonly Mistake[];
}

/** An editor for YAML and JSON. The module that creates editors is loaded when the first editor is shown. */
export function CodeEditor({ value, label, onChange, complete, check }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<Editor>();
  const parts = useRef({ onChange, complete, check });
  // What the person types comes back as `value`, perhaps after the person has typed more. Such an older value must not
  // replace the newer text.
  const echoes = useRef<string[]>([]);
  parts.current = { onChange, complete, check };
  useEffect(() => {
    let made: Editor | undefined;
    let isClosed = false;
    const load = async (): Promise<void> => {
      const { createEditor } = await import('./editor/create-editor.ts');
      if (isClosed || host.current === null) return;
      made = createEditor(host.current, {
        label,
        isReadOnly: onChange === undefined,
        onChange: (text) => {
          echoes.current.push(text);
          parts.current.onChange?.(text);
        },
        complete: (before) => parts.current.complete?.(before),
        check: (text) => parts.current.check?.(text) ?? [],
      });
      setEditor(made);
    };
    void load();
    return () => {
      isClosed = true;
      made?.destroy();
    };
  }, []);
  // A layout effect sets a new text before the editor handles the next key press, so that the key edits the new text.
  useLayoutEffect(() => {
    const echo = echoes.current.indexOf(value);
    echoes.current.splice(0, echo < 0 ? echoes.current.length : echo + 1);
    if (echo < 0) editor?.setText(value);
  }, [editor, value]);
  useEffect(() => editor?.recheck(), [editor, check]);
  return <div class="code-editor" ref={host} />;
}
