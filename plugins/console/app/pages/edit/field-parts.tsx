import { formatPath, isObject, shownAs, textOf } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import type { FieldCause } from '../../api/failure.ts';
import type { KindSchema } from '../../state/schemas.ts';
import { problemsAt } from './field-problems.ts';

/** The common properties of all fields of a form. */
export interface Form {
  readonly schema: KindSchema;
  readonly value: JsonObject;
  /** Sets the value of a field; undefined removes the field. */
  readonly set: (path: Path, value: Json | undefined) => void;
  readonly causes: readonly FieldCause[];
}

export interface FieldProps {
  readonly form: Form;
  readonly schema: JsonObject;
  readonly path: Path;
  readonly label: string;
  readonly isRequired: boolean;
  /**
   * True for an entry of a list or a map. Such an entry stays while its field is empty; only its button removes the
   * entry.
   */
  readonly isItem?: boolean;
}

export function Description({ schema }: Pick<FieldProps, 'schema'>) {
  const text = textOf(schema.description);
  const hasDefault = schema.default !== undefined && !isObject(schema.default);
  if (text === '' && !hasDefault) return null;
  return (
    <p class="form-hint">
      {text}
      {hasDefault ? <span class="form-default">Default: {shownAs(schema.default)}</span> : null}
    </p>
  );
}

/** Shows the server's messages about this field. */
export function Problems({ form, path }: Pick<FieldProps, 'form' | 'path'>) {
  const problems = problemsAt(form.causes, path);
  if (problems.length === 0) return null;
  return (
    <div class="form-problems" id={`problem-${formatPath(path)}`} role="alert">
      {problems.map((message) => (
        <p key={message}>{message}</p>
      ))}
    </div>
  );
}
