import { isArray, isObject, textOf, valueAt } from '../../base/json.ts';
import { textsIn } from '../../base/object.ts';
import { ArrayField, MapField } from './list-fields.tsx';
import { InputField } from './input-field.tsx';
import { Description, Problems } from './field-parts.tsx';
import type { FieldProps } from './field-parts.tsx';

/** Shows the fields of an object's schema, one below the other. */
function ObjectFields({ form, schema, path }: Omit<FieldProps, 'label' | 'isRequired'>) {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = textsIn(schema.required);
  return (
    <div class="form-fields">
      {Object.entries(properties).map(([key, child]) => (
        <Field
          key={key}
          form={form}
          schema={form.schema.resolve(child)}
          path={[...path, key]}
          label={key}
          isRequired={required.includes(key)}
        />
      ))}
    </div>
  );
}

/** Shows the form controls for one field of the object. The type in the schema decides which controls. */
export function Field(props: FieldProps) {
  const { schema, form, path } = props;
  const type = textOf(schema.type);
  if (type === 'object' && isObject(schema.properties)) return <Group {...props} />;
  if (type === 'object' && isObject(schema.additionalProperties)) return <MapField {...props} field={Field} />;
  if (type === 'array' && isObject(schema.items)) return <ArrayField {...props} field={Field} />;
  const value = valueAt(form.value, path);
  if (type === '' || type === 'object' || type === 'array' || isArray(value) || isObject(value))
    return <ByYaml {...props} />;
  return <InputField {...props} />;
}

/**
 * Shows the fields of an object within an object. For an optional object that is absent, it shows only a button that
 * adds the object: otherwise the form of a recursive kind would have no end.
 */
function Group(props: FieldProps) {
  const { form, schema, path, label, isRequired } = props;
  const value = valueAt(form.value, path);
  return (
    <fieldset class="form-group">
      <legend>
        {label}
        {isRequired || value === undefined ? null : (
          <button type="button" class="link" onClick={() => form.set(path, undefined)}>
            Remove<span class="visually-hidden"> {label}</span>
          </button>
        )}
      </legend>
      <Description schema={schema} />
      <Problems form={form} path={path} />
      {value === undefined && !isRequired ? (
        <button type="button" class="button" onClick={() => form.set(path, {})}>
          Add {label}
        </button>
      ) : (
        <ObjectFields form={form} schema={schema} path={path} />
      )}
    </fieldset>
  );
}

function ByYaml({ form, path, label }: FieldProps) {
  return (
    <div class="form-field">
      <span class="form-label">{label}</span>
      <span class="muted">This field takes any value: edit it in the YAML.</span>
      <Problems form={form} path={path} />
    </div>
  );
}
