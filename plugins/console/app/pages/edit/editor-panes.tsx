import { useCallback, useEffect, useState } from 'preact/hooks';
import { parseField } from '../../base/field-path.ts';
import { isObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Completion, Mistake } from '../../base/mistake.ts';
import type { FieldCause } from '../../api/failure.ts';
import type { Resource } from '../../api/resources.ts';
import { Card } from '../../parts/basics.tsx';
import { CodeEditor } from '../../parts/code-editor.tsx';
import { schemaOf } from '../../state/schemas.ts';
import type { KindSchema } from '../../state/schemas.ts';
import { isSettingsKind, settingsSchemaOf } from '../../state/plugins.ts';
import type { Form } from './field-parts.tsx';
import { Field } from './schema-form.tsx';
import type { Draft } from './use-draft.ts';
import { completionAfter, lineOfField } from './text-fields.ts';
import { parseText } from './object-text.ts';

/** The schema of a kind; undefined while it is read. */
export function useSchema(resource: Resource): KindSchema | undefined {
  const [schema, setSchema] = useState<KindSchema>();
  useEffect(() => {
    let isCurrent = true;
    const none: KindSchema = { root: {}, resolve: (value) => (isObject(value) ? value : {}) };
    void schemaOf(resource)
      .catch(() => none)
      .then((found) => isCurrent && setSchema(found));
    return () => {
      isCurrent = false;
    };
  }, [resource]);
  return schema;
}

/**
 * Returns the schema of an object, which is the schema of its kind. If the object has the settings of a plugin, the
 * schema of its `spec` is the one that this plugin declares for its settings.
 */
export function schemaOfObject(schema: KindSchema, resource: Resource, name: string): KindSchema {
  const settings = isSettingsKind(resource) ? settingsSchemaOf(name) : undefined;
  if (settings === undefined) return schema;
  const { root } = schema;
  const properties = { ...(isObject(root.properties) ? root.properties : {}), spec: settings };
  return { ...schema, root: { ...root, required: ['spec'], properties } };
}

interface Props {
  readonly draft: Draft;
  readonly schema: KindSchema;
  readonly causes: readonly FieldCause[];
  /** True for an object that is not created yet: the form then has a field for the name. */
  readonly isNew: boolean;
}

/** Shows a draft as a form and as a text, side by side. */
export function EditorPanes({ draft, schema, causes, isNew }: Props) {
  const form: Form = { schema, value: draft.value, set: draft.setField, causes };
  const complete = (before: string): Completion | undefined => completionAfter(before, schema);
  const check = useCallback((text: string) => mistakesIn(text, causes), [causes]);
  return (
    <div class="panes">
      <Card title="Form">
        {draft.mistake === undefined ? null : (
          <p class="problem">
            The text has a mistake in line {draft.mistake.line}. The form shows the last valid state.
          </p>
        )}
        <FormFields form={form} isNew={isNew} />
      </Card>
      <Card title="Text" aside={<FormatChoice draft={draft} />}>
        <CodeEditor value={draft.text} label="Text" onChange={draft.setText} complete={complete} check={check} />
      </Card>
    </div>
  );
}

/** The choice of YAML or JSON. A text with a mistake must be corrected before the format can change. */
function FormatChoice({ draft }: { readonly draft: Draft }) {
  return (
    <select
      aria-label="Format of the text"
      value={draft.format}
      disabled={draft.mistake !== undefined}
      onChange={(event) => draft.setFormat(event.currentTarget.value === 'json' ? 'json' : 'yaml')}
    >
      <option value="yaml">YAML</option>
      <option value="json">JSON</option>
    </select>
  );
}

/** Returns the mistake in the text, or the server's messages about its fields, with their lines. */
function mistakesIn(text: string, causes: readonly FieldCause[]): readonly Mistake[] {
  const parsed = parseText(text);
  if ('mistake' in parsed) return [parsed.mistake];
  return causes.map(({ field, message }) => ({
    line: lineOfField(text, parseField(field)),
    message: `${field}: ${message}`,
  }));
}

const metadataSchema: JsonObject = {
  type: 'object',
  properties: {
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
  },
};

const nameSchema: JsonObject = { type: 'string', description: 'Unique within the kind.' };
const nameInNamespaceSchema: JsonObject = { type: 'string', description: 'Unique within the kind and the namespace.' };
const namespaceSchema: JsonObject = { type: 'string' };
const hidden = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/**
 * The fields for the name of a new object and its namespace. The initial draft of an object has a namespace only if its
 * kind has namespaces.
 */
function NameFields({ form }: { readonly form: Form }) {
  const { metadata } = form.value;
  const [isNamespaced] = useState(isObject(metadata) && metadata.namespace !== undefined);
  const schema = isNamespaced ? nameInNamespaceSchema : nameSchema;
  return (
    <>
      {isNamespaced ? (
        <Field form={form} schema={namespaceSchema} path={['metadata', 'namespace']} label="namespace" isRequired />
      ) : null}
      <Field form={form} schema={schema} path={['metadata', 'name']} label="name" isRequired />
    </>
  );
}

/**
 * The fields of the form: the name and the namespace of a new object, the fields of the kind, labels and annotations.
 */
function FormFields({ form, isNew }: { readonly form: Form; readonly isNew: boolean }) {
  const { root, resolve } = form.schema;
  const properties = Object.entries(isObject(root.properties) ? root.properties : {});
  const required = Array.isArray(root.required) ? root.required : [];
  return (
    <div class="form-fields">
      {isNew ? <NameFields form={form} /> : null}
      {properties
        .filter(([key]) => !hidden.has(key))
        .map(([key, child]) => (
          <Field
            key={key}
            form={form}
            schema={resolve(child)}
            path={[key]}
            label={key}
            isRequired={required.includes(key)}
          />
        ))}
      <Field form={form} schema={metadataSchema} path={['metadata']} label="metadata" isRequired />
    </div>
  );
}
