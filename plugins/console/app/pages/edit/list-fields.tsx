import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { isArray, isObject, textOf, valueAt } from '../../base/json.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { Description, Problems } from './field-parts.tsx';
import type { FieldProps } from './field-parts.tsx';

/**
 * `field` is the component that renders the items. It is a property and not an import, because that component imports
 * this file to render lists.
 */
interface Props extends FieldProps {
  readonly field: ComponentType<FieldProps>;
}

/** The maximum number of items that a form shows; further items can be edited in the YAML. */
const shownItems = 100;

/** Renders the inputs of a form for a list: one for each item, with buttons to remove an item and to add one. */
export function ArrayField({ form, schema, path, label, field: Item }: Props) {
  const value = valueAt(form.value, path);
  const items = isArray(value) ? value : [];
  const itemSchema = form.schema.resolve(schema.items);
  return (
    <fieldset class="form-group">
      <legend>{label}</legend>
      <Description schema={schema} />
      <Problems form={form} path={path} />
      {items.slice(0, shownItems).map((_, index) => (
        <div key={index} class="form-item">
          <Item
            form={form}
            schema={itemSchema}
            path={[...path, index]}
            label={`${label} ${index + 1}`}
            isRequired={itemSchema.type === 'object'}
            isItem
          />
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => form.set([...path, index], undefined)}
          >
            ✕
          </button>
        </div>
      ))}
      {items.length > shownItems ? <p class="muted">{items.length - shownItems} more are in the YAML.</p> : null}
      <button type="button" class="button" onClick={() => form.set([...path, items.length], emptyOf(itemSchema))}>
        Add to {label}
      </button>
    </fieldset>
  );
}

/**
 * Renders the inputs of a form for a map: one for each entry, with buttons to remove an entry and to add one. The user
 * types the name of a new entry.
 */
export function MapField({ form, schema, path, label, field: Item }: Props) {
  const [name, setName] = useState('');
  const value = valueAt(form.value, path);
  const keys = isObject(value) ? Object.keys(value) : [];
  const valueSchema = form.schema.resolve(schema.additionalProperties);
  const add = (): void => {
    if (name === '' || keys.includes(name)) return;
    form.set([...path, name], emptyOf(valueSchema));
    setName('');
  };
  return (
    <fieldset class="form-group">
      <legend>{label}</legend>
      <Description schema={schema} />
      <Problems form={form} path={path} />
      {keys.slice(0, shownItems).map((key) => (
        <div key={key} class="form-item">
          <Item form={form} schema={valueSchema} path={[...path, key]} label={key} isRequired={false} isItem />
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove ${key}`}
            onClick={() => form.set([...path, key], undefined)}
          >
            ✕
          </button>
        </div>
      ))}
      {keys.length > shownItems ? <p class="muted">{keys.length - shownItems} more are in the YAML.</p> : null}
      <div class="line">
        <input
          aria-label={`Name of a new entry of ${label}`}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="button" class="button" disabled={name === ''} onClick={add}>
          Add to {label}
        </button>
      </div>
    </fieldset>
  );
}

/** Returns the initial value of a new item. */
function emptyOf(schema: JsonObject): Json {
  const type = textOf(schema.type);
  if (schema.default !== undefined) return schema.default;
  if (type === 'object') return {};
  if (type === 'array') return [];
  if (type === 'boolean') return false;
  return type === 'integer' || type === 'number' ? 0 : '';
}
