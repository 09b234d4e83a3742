import { useEffect, useState } from 'preact/hooks';
import { formatPath, isArray, shownAs, textOf, valueAt } from '../../base/json.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { problemsAt } from './field-problems.ts';
import { Description, Problems } from './field-parts.tsx';
import type { FieldProps } from './field-parts.tsx';

/** A text with more characters than this gets a field with several lines, as does a text with line breaks. */
const longText = 200;

/** The field for a text, a number, a choice or a switch. */
export function InputField(props: FieldProps) {
  const { form, schema, path, label, isRequired } = props;
  const id = `field-${formatPath(path)}`;
  const isWrong = problemsAt(form.causes, path).length > 0;
  const shared = {
    id,
    'aria-invalid': isWrong,
    'aria-describedby': isWrong ? `problem-${formatPath(path)}` : undefined,
    'aria-required': isRequired,
  };
  return (
    <div class="form-field">
      <label class="form-label" for={id}>
        {label}
        {isRequired ? <span class="muted"> required</span> : null}
      </label>
      <Control {...props} shared={shared} />
      <Description schema={schema} />
      <Problems form={form} path={path} />
    </div>
  );
}

interface ControlProps extends FieldProps {
  readonly shared: Readonly<Record<string, string | boolean | undefined>>;
}

function Control(props: ControlProps) {
  const { schema } = props;
  if (isArray(schema.enum)) return <Choice {...props} options={schema.enum} />;
  if (schema.type === 'boolean') return <Choice {...props} options={[true, false]} />;
  if (schema.type === 'integer' || schema.type === 'number') return <NumberInput {...props} />;
  return <TextInput {...props} />;
}

function Choice({ form, path, options, shared, isItem = false }: ControlProps & { readonly options: readonly Json[] }) {
  const value = valueAt(form.value, path);
  return (
    <select
      {...shared}
      value={value === undefined ? '' : shownAs(value)}
      onChange={(event) =>
        form.set(
          path,
          options.find((each) => shownAs(each) === event.currentTarget.value),
        )
      }
    >
      {isItem ? null : <option value="">not set</option>}
      {options.map((each) => (
        <option key={shownAs(each)} value={shownAs(each)}>
          {shownAs(each)}
        </option>
      ))}
    </select>
  );
}

/** The field for a number. A typed text that is not a number stays in the field. */
function NumberInput({ form, path, schema, shared, isItem = false }: ControlProps) {
  const value = valueAt(form.value, path);
  const [text, setText] = useState(shownAs(value));
  useEffect(() => {
    if (readNumber(text) !== value) setText(value === undefined ? '' : shownAs(value));
  }, [value]);
  return (
    <input
      {...shared}
      inputMode={schema.type === 'integer' ? 'numeric' : 'decimal'}
      value={text}
      placeholder={rangeOf(schema)}
      onInput={(event) => {
        setText(event.currentTarget.value);
        form.set(path, readNumber(event.currentTarget.value) ?? (isItem ? '' : undefined));
      }}
    />
  );
}

/** Returns a text that is not a number unchanged, so that the server reports the mistake. */
function readNumber(text: string): number | string | undefined {
  if (text.trim() === '') return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

function rangeOf({ minimum, maximum }: JsonObject): string {
  if (minimum === undefined && maximum === undefined) return '';
  if (maximum === undefined) return `at least ${shownAs(minimum)}`;
  if (minimum === undefined) return `at most ${shownAs(maximum)}`;
  return `${shownAs(minimum)} to ${shownAs(maximum)}`;
}

function TextInput({ form, path, schema, shared, isRequired, isItem = false }: ControlProps) {
  const value = textOf(valueAt(form.value, path));
  const set = (text: string): void => form.set(path, text === '' && !isRequired && !isItem ? undefined : text);
  const isLong = value.length > longText || value.includes('\n') || (schema.maxLength ?? 0) === 0;
  if (isLong && (value.length > longText || value.includes('\n')))
    return <textarea {...shared} rows={6} value={value} onInput={(event) => set(event.currentTarget.value)} />;
  const hint = textOf(schema.format) || textOf(schema.example);
  return <input {...shared} value={value} placeholder={hint} onInput={(event) => set(event.currentTarget.value)} />;
}
