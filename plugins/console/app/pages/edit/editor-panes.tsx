import { useEffect, useState } from 'preact/hooks';
import { isObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import type { FieldCause } from '../../api/failure.ts';
import type { Resource } from '../../api/resources.ts';
import { Card } from '../../parts/basics.tsx';
import { CodeEditor } from '../../parts/code-editor.tsx';
import { schemaOf } from '../../state/schemas.ts';
import type { KindSchema } from '../../state/schemas.ts';
import type { Form } from './field-parts.tsx';
import { Field } from './schema-form.tsx';
import type { Draft } from './use-draft.ts';
import { parseYaml } from './yaml-text.ts';

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

interface Props {
  readonly draft: Draft;
  readonly schema: KindSchema;
  readonly causes: readonly FieldCause[];
  /** Shows the name, for an object that is not created yet. */
  readonly isNew: boolean;
}

/** Form and YAML side by side. */
export function EditorPanes({ draft, schema, causes, isNew }: Props) {
  const form: Form = { schema, value: draft.value, set: draft.setField, causes };
  const words = wordsOf(schema);
  const check = (text: string): ReturnType<typeof checkText> => checkText(text);
  return (
    <div class="panes">
      <Card title="Form">
        {draft.mistake === undefined ? null : (
          <p class="problem">
            The YAML has a mistake in line {draft.mistake.line}. The form shows the last valid state.
          </p>
        )}
        <FormFields form={form} isNew={isNew} />
      </Card>
      <Card title="YAML">
        <CodeEditor value={draft.text} label="YAML" onChange={draft.setText} words={words} check={check} />
      </Card>
    </div>
  );
}

function checkText(text: string) {
  const parsed = parseYaml(text);
  return 'mistake' in parsed ? parsed.mistake : undefined;
}

const metadataSchema: JsonObject = {
  type: 'object',
  properties: {
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
  },
};

const nameSchema: JsonObject = { type: 'string', description: 'Unique within the kind.' };
const hidden = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** The fields that people write: the name of a new object, labels, and what the kind has. */
function FormFields({ form, isNew }: { readonly form: Form; readonly isNew: boolean }) {
  const { root, resolve } = form.schema;
  const properties = Object.entries(isObject(root.properties) ? root.properties : {});
  const required = Array.isArray(root.required) ? root.required : [];
  return (
    <div class="form-fields">
      {isNew ? <Field form={form} schema={nameSchema} path={['metadata', 'name']} label="name" isRequired /> : null}
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

/** The names of all fields, for the completion of the editor. */
function wordsOf({ root, resolve }: KindSchema): readonly string[] {
  const words = new Set<string>();
  const seen = new Set<JsonObject>();
  const visit = (schema: JsonObject, depth: number): void => {
    if (seen.has(schema) || depth > 6) return;
    seen.add(schema);
    for (const [key, child] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
      words.add(key);
      visit(resolve(child), depth + 1);
    }
    if (isObject(schema.items)) visit(resolve(schema.items), depth + 1);
  };
  visit(root, 0);
  return [...words];
}
