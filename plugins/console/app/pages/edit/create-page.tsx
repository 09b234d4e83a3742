import { useEffect, useState } from 'preact/hooks';
import { isArray, isObject, textOf } from '../../base/json.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { nameOf, namespaceOf } from '../../base/object.ts';
import type { FieldCause } from '../../api/failure.ts';
import { apiVersionOf, keyOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import { Empty, Loading, PageHead } from '../../parts/basics.tsx';
import { notify } from '../../state/page-state.ts';
import { go, kindHref, objectHref, route } from '../../state/route.ts';
import type { KindSchema } from '../../state/schemas.ts';
import { leftDraft } from '../../state/left-drafts.ts';
import { may } from '../../state/session.ts';
import { EditorPanes, schemaOfObject, useSchema } from './editor-panes.tsx';
import { SaveDialog } from './save-dialog.tsx';
import { useDraft } from './use-draft.ts';
import { useLiveCheck } from './use-live-check.ts';

/** The page that creates an object of a kind. */
export function CreatePage({ resource }: { readonly resource: Resource }) {
  const schema = useSchema(resource);
  if (!may('create', resource))
    return (
      <div class="page">
        <PageHead title={`Create ${resource.kind}`} />
        <Empty title={`You may not create a ${resource.kind}`}>
          Ask an administrator for a role with this permission.
        </Empty>
      </div>
    );
  return schema === undefined ? <Loading /> : <CreateForm resource={resource} schema={schema} />;
}

function CreateForm({ resource, schema }: { readonly resource: Resource; readonly schema: KindSchema }) {
  const named = route.value.query.get('name') ?? '';
  const skeleton = skeletonOf(resource, named, schemaOfObject(schema, resource, named));
  const key = `create ${keyOf(resource)} ${named}`;
  const [isFound] = useState(leftDraft(key) !== undefined);
  const draft = useDraft(skeleton, key);
  const [isSaving, setSaving] = useState(false);
  const checked = useLiveCheck({ resource, draft, stored: undefined });
  const [refused, setRefused] = useState<readonly FieldCause[]>([]);
  // The messages of a newer dry run replace the messages of a refused save.
  useEffect(() => setRefused([]), [checked]);
  const causes = refused.length > 0 ? refused : checked;
  return (
    <div class="page">
      <p class="crumbs">
        <a href={kindHref(keyOf(resource))}>{resource.kind}</a>
      </p>
      <PageHead title={`Create ${resource.kind}`}>
        <button
          type="button"
          class="button button-primary"
          disabled={draft.mistake !== undefined}
          onClick={() => setSaving(true)}
        >
          Review and create
        </button>
      </PageHead>
      {isFound && draft.isChanged ? (
        <p class="line hint" role="status">
          The text that you typed before is still here.
          <button type="button" class="link" onClick={() => draft.restart(skeleton)}>
            Start again
          </button>
        </p>
      ) : null}
      <EditorPanes {...{ draft, causes }} schema={schemaOfObject(schema, resource, writtenName(draft.value))} isNew />
      {isSaving ? (
        <SaveDialog
          {...{ resource, draft, stored: undefined }}
          onClose={() => setSaving(false)}
          onFailure={(failure) => {
            setRefused(failure.causes);
            setSaving(false);
            notify('bad', failure.message);
          }}
          onSaved={({ object }) => {
            draft.forget();
            notify('good', `${nameOf(object)} is created`);
            go(objectHref(keyOf(resource), namespaceOf(object), nameOf(object)));
          }}
        />
      ) : null}
    </div>
  );
}

/** The name in a draft; empty while the draft has no name. */
function writtenName({ metadata }: JsonObject): string {
  return isObject(metadata) ? textOf(metadata.name) : '';
}

/** Returns the initial draft: a new object with the fields that its schema requires. */
function skeletonOf(resource: Resource, name: string, { root, resolve }: KindSchema): JsonObject {
  const namespace = resource.isNamespaced ? { namespace: 'default' } : {};
  const { metadata: _metadata, ...fields } = requiredFields(root, resolve, 0);
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name, ...namespace }, ...fields };
}

function requiredFields(schema: JsonObject, resolve: KindSchema['resolve'], depth: number): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = isArray(schema.required) ? schema.required.filter((each) => typeof each === 'string') : [];
  const entries = required.map((key): readonly [string, Json] => {
    const child = resolve(properties[key]);
    if (child.default !== undefined) return [key, child.default];
    if (textOf(child.type) === 'object') return [key, depth > 5 ? {} : requiredFields(child, resolve, depth + 1)];
    if (child.type === 'array') return [key, []];
    if (isArray(child.enum)) return [key, child.enum[0] ?? ''];
    if (child.type === 'boolean') return [key, false];
    if (child.type === 'integer' || child.type === 'number') return [key, child.minimum ?? 0];
    return [key, ''];
  });
  return Object.fromEntries(entries.filter(([key]) => !['apiVersion', 'kind'].includes(key)));
}
