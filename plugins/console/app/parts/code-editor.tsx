import { useEffect, useRef, useState } from 'preact/hooks';
import type { Mistake } from '../base/mistake.ts';
import type { Editor } from './editor/create-editor.ts';

interface Props {
  readonly value: string;
  readonly label: string;
  /** Called for each change of the person; absent for a text that can only be read. */
  readonly onChange?: (text: string) => void;
  /** The names of fields that are offered while typing. */
  readonly words?: readonly string[];
  /** What is wrong with the text; undefined when nothing is. */
  readonly check?: (text: string) => Mistake | undefined;
}

/** An editor for YAML, whose code is loaded when the first one is shown. */
export function CodeEditor({ value, label, onChange, words, check }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<Editor>();
  const parts = useRef({ onChange, words, check });
  parts.current = { onChange, words, check };
  useEffect(() => {
    let made: Editor | undefined;
    let isClosed = false;
    const load = async (): Promise<void> => {
      const { createEditor } = await import('./editor/create-editor.ts');
      if (isClosed || host.current === null) return;
      made = createEditor(host.current, {
        label,
        isReadOnly: onChange === undefined,
        onChange: (text) => parts.current.onChange?.(text),
        words: () => parts.current.words ?? [],
        check: (text) => parts.current.check?.(text),
      });
      setEditor(made);
    };
    void load();
    return () => {
      isClosed = true;
      made?.destroy();
    };
  }, []);
  useEffect(() => editor?.setText(value), [editor, value]);
  return <div class="code-editor" ref={host} />;
}
