import { useState } from 'preact/hooks';
import { isObject, withValueAt } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import type { Mistake } from '../../base/mistake.ts';
import { formatYaml, parseYaml } from './yaml-text.ts';

export interface Draft {
  /** The last state without a mistake. */
  readonly value: JsonObject;
  /** The text of the editor. */
  readonly text: string;
  /** What keeps the text from being an object. */
  readonly mistake: Mistake | undefined;
  readonly setText: (text: string) => void;
  readonly setValue: (value: JsonObject) => void;
  readonly setField: (path: Path, value: Json | undefined) => void;
}

/** One object as a form and as YAML: a change of one changes the other. */
export function useDraft(initial: JsonObject): Draft {
  const [state, setState] = useState(() => ({ value: initial, text: formatYaml(initial), mistake: noMistake }));
  const setValue = (value: JsonObject): void => setState({ value, text: formatYaml(value), mistake: undefined });
  return {
    ...state,
    setValue,
    setText: (text) => {
      const parsed = parseYaml(text);
      if ('object' in parsed) setState({ value: parsed.object, text, mistake: undefined });
      else setState((old) => ({ ...old, text, mistake: parsed.mistake }));
    },
    setField: (path, value) =>
      setState((old) => {
        const changed = withValueAt(old.value, path, value);
        return isObject(changed) ? { value: changed, text: formatYaml(changed), mistake: undefined } : old;
      }),
  };
}

const noMistake: Mistake | undefined = undefined;
