import { isArray, isObject, textOf } from '../base/json.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { apiVersionOf, pathOf } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import { api } from './session.ts';

/** The OpenAPI documents by their path. Each is read once, and again after {@link forgetSchemas}. */
const documents = new Map<string, Promise<JsonObject>>();

function documentOf(resource: Resource): Promise<JsonObject> {
  const path = `/openapi/v3/${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}`;
  const found = documents.get(path) ?? api.get(path).then((body) => (isObject(body) ? body : {}));
  documents.set(path, found);
  // A failed request is not kept, so that the next call sends a new one.
  found.catch(() => documents.delete(path));
  return found;
}

/** Removes the stored OpenAPI documents, because a plugin may have changed its kinds. */
export function forgetSchemas(): void {
  documents.clear();
}

/**
 * Returns the fields by which a list can be selected and sorted. The OpenAPI document lists these fields in the
 * description of the parameter `sort`.
 */
export async function indexedFieldsOf(resource: Resource): Promise<readonly string[]> {
  const fallback = ['metadata.name', 'metadata.creationTimestamp'];
  try {
    const { paths } = await documentOf(resource);
    const item = isObject(paths) ? (paths[pathOf(resource)] ?? paths[pathOf(resource, '{namespace}')]) : undefined;
    const get = isObject(item) ? item.get : undefined;
    const parameters = isObject(get) && isArray(get.parameters) ? get.parameters.filter(isObject) : [];
    const sort = parameters.find(({ name }) => name === 'sort');
    const fields = /Fields: ([^\n]+?)\.?$/.exec(textOf(sort?.description))?.[1];
    return fields === undefined ? fallback : fields.split(', ').filter((each) => each !== 'metadata.labels');
  } catch {
    return fallback;
  }
}

/** The schema of a kind, and a function that resolves its references. */
export interface KindSchema {
  readonly root: JsonObject;
  readonly resolve: (schema: Json | undefined) => JsonObject;
}

/** Returns the schema of a kind. For a kind without a schema, the result allows any value. */
export async function schemaOf(resource: Resource): Promise<KindSchema> {
  const document = await documentOf(resource);
  const schemas =
    isObject(document.components) && isObject(document.components.schemas) ? document.components.schemas : {};
  const { group, version, kind } = resource;
  const root = Object.values(schemas).find((schema) => {
    const names = isObject(schema) ? schema['x-kubernetes-group-version-kind'] : undefined;
    return (
      isArray(names) &&
      names.some((each) => isObject(each) && each.group === group && each.version === version && each.kind === kind)
    );
  });
  const resolve = (schema: Json | undefined): JsonObject => resolveIn(schemas, schema);
  return { root: resolve(root), resolve };
}

const refPrefix = '#/components/schemas/';

/**
 * Resolves a reference. Also resolves an `allOf` with one schema, the form in which OpenAPI adds a description to a
 * reference.
 */
function resolveIn(schemas: JsonObject, schema: Json | undefined, depth = 0): JsonObject {
  if (!isObject(schema) || depth > 10) return {};
  const ref = textOf(schema.$ref);
  if (ref.startsWith(refPrefix)) return resolveIn(schemas, schemas[ref.slice(refPrefix.length)], depth + 1);
  const [only, ...others] = isArray(schema.allOf) ? schema.allOf : [];
  if (only === undefined || others.length > 0 || schema.type !== undefined) return schema;
  return { ...resolveIn(schemas, only, depth + 1), ...schema };
}
