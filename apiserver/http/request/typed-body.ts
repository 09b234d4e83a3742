import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { builtinKinds } from '../../builtin/builtin-kinds.ts';
import type { BodySource } from '../../decode/body-codec.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { reviewKinds } from '../../reviews/review-kinds.ts';

/** Kinds for which stock clients have types of their own. */
const typedKinds: ReadonlySet<string> = new Set([
  ...builtinKinds.map(nameOf),
  ...reviewKinds.map(nameOf),
  nameOf({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' }),
]);

/**
 * The body of a write, of a built-in kind completed by the path as in Kubernetes: typed clients leave apiVersion and kind out,
 * which there are said by the method that is called. Everybody else's objects have to say what they are.
 */
export function typedBody({ model, apiVersion }: Pick<Resource, 'model' | 'apiVersion'>, body: BodySource): BodySource {
  if (!typedKinds.has(nameOf(model))) return body;
  const completed = (): unknown => {
    const object = body();
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return object;
    return { ...object, ...absentOf(object, { apiVersion, kind: model.kind }) };
  };
  return Object.assign(completed, { isLarge: body.isLarge === true });
}

function absentOf(object: object, type: Readonly<Record<string, string>>): object {
  const given: Readonly<Record<string, unknown>> = { ...object };
  return Object.fromEntries(Object.entries(type).filter(([field]) => (given[field] ?? '') === ''));
}

function nameOf({ group, kind }: Pick<ModelDescriptor, 'group' | 'kind'>): string {
  return `${kind}.${group}`;
}
