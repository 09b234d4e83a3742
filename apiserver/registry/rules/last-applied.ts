import { checkAnnotations, isJsonObject } from '@homeostat/controller-runtime/api';
import type { ObjectMeta } from '@homeostat/controller-runtime/api';
import { compareSteps } from '../../apply/compare-steps.ts';
import { contentOf } from '../../apply/fields-of.ts';
import { differenceSteps } from '../../apply/field-set-steps.ts';
import { leaf } from '../../apply/field-set.ts';
import type { FieldSet } from '../../apply/field-set.ts';
import type { Fields } from '../../apply/field-type.ts';
import { appliedFieldsOf } from '../../apply/fields-of.ts';
import { Pace } from '../../turns/pace.ts';
import type { Steps } from '../../turns/steps.ts';
import type { ObjectDraft, Rules } from './write-request.ts';

// kubectl's client-side apply stores the applied object in this annotation. In a server-side apply, kubectl takes over
// the fields in the annotation from other managers without a conflict. The annotation must stay correct, because users
// may return to client-side apply.
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The field manager of kubectl's server-side applies. Only for this manager, an apply reads and renews the annotation
 * `last-applied-configuration`.
 */
export const kubectl = 'kubectl';

/** Returns the fields that kubectl applied on the client side, and whose values have not changed since then. */
export function* lastAppliedFields(rules: Rules, live: Fields): Steps<FieldSet> {
  const { annotations } = live['metadata'] as Partial<ObjectMeta>;
  const applied = parseApplied(annotations?.[annotation]);
  // The server stores no field that the schema does not know. If the applied object has such a field, the stored object
  // differs from the applied one, or the schema has changed since. In both cases, the annotation is ignored.
  if (applied === undefined || rules.schema.prune(applied).length > 0) return leaf;
  const content = contentOf(applied);
  const { shape } = rules.schema;
  const pace = new Pace();
  const { changed, removed } = yield* compareSteps(content, live, shape, pace);
  const fields = yield* appliedFieldsOf(content, shape, pace);
  return yield* differenceSteps(yield* differenceSteps(fields, changed), removed);
}

function parseApplied(text: string | undefined): ObjectDraft | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && isJsonObject(value['metadata']) ? (value as ObjectDraft) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the annotations with the newly applied object in `last-applied-configuration`. If they do not have this
 * annotation, or if it is empty, returns them unchanged. If the new object makes the annotations too large, returns
 * them without this annotation.
 */
export function renewLastApplied(
  annotations: ObjectMeta['annotations'],
  applied: ObjectDraft,
): ObjectMeta['annotations'] {
  if (annotations === undefined || (annotations[annotation] ?? '') === '') return annotations;
  const { [annotation]: _old, ...others } = annotations;
  const { annotations: own = {}, ...metadata } = applied.metadata;
  const { [annotation]: _own, ...ownOthers } = own;
  const shown = Object.keys(ownOthers).length === 0 ? metadata : { ...metadata, annotations: ownOthers };
  const renewed = { ...annotations, [annotation]: `${JSON.stringify({ ...applied, metadata: shown })}\n` };
  return checkAnnotations(renewed, 'metadata.annotations').length === 0 ? renewed : others;
}
