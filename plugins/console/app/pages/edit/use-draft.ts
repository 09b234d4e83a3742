import { useState } from 'preact/hooks';
import { isObject, withValueAt } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import type { Mistake } from '../../base/mistake.ts';
import { formatText, parseText } from './object-text.ts';
import type { TextFormat } from './object-text.ts';

export interface Draft {
  /** The last state without a mistake. */
  readonly value: JsonObject;
  /** The text of the editor. */
  readonly text: string;
  readonly format: TextFormat;
  /** The mistake that keeps the text from being an object. */
  readonly mistake: Mistake | undefined;
  readonly setFormat: (format: TextFormat) => void;
  readonly setText: (text: string) => void;
  readonly setValue: (value: JsonObject) => void;
  readonly setField: (path: Path, value: Json | undefined) => void;
}

/** One object as a form and as a text: a change of one changes the other. */
export function useDraft(initial: JsonObject): Draft {
  const [state, setState] = useState(() => stateOf(initial, 'yaml'));
  const setValue = (value: JsonObject): void => setState(({ format }) => stateOf(value, format));
  return {
    ...state,
    setValue,
    setFormat: (format) => setState(({ value }) => stateOf(value, format)),
    setText: (text) => {
      const parsed = parseText(text);
      if ('object' in parsed) setState(({ format }) => ({ ...stateOf(parsed.object, format), text }));
      else setState((old) => ({ ...old, text, mistake: parsed.mistake }));
    },
    setField: (path, value) =>
      setState((old) => {
        const changed = withValueAt(old.value, path, value);
        return isObject(changed) ? stateOf(changed, old.format) : old;
      }),
  };
}

type DraftState = Pick<Draft, 'value' | 'text' | 'format' | 'mistake'>;

function stateOf(value: JsonObject, format: TextFormat): DraftState {
  return { value, format, text: formatText(value, format), mistake: undefined };
}
