import { freezeDeep } from '@homeostat/controller-runtime';
import { ApiError, apiVersionOf, metadataShapeErrors, isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, ObjectMeta } from '@homeostat/controller-runtime/api';
import { objectLimits } from '../../limits/body-limits.ts';
import { copyAsJsonObject } from '../../decode/json-copy.ts';
import { clip } from '../object/resource-errors.ts';
import { PendingConversion } from './pending-conversion.ts';
import type { Rules } from '../rules/write-request.ts';
import { isEmpty } from '../rules/write-rules.ts';

/** A conversion as a model declares it; undefined when only apiVersion changes. */
export type Convert = ((object: ApiObject) => unknown) | undefined;

/** The fields that a conversion must not change, but may leave out. */
const fixedFields = ['name', 'namespace', 'uid'] as const;

/**
 * Converts an object to another version: calls the model's function, if there is one, sets the defaults of the target's
 * schema, and removes unknown fields. The function receives `object` frozen; the result shares no memory with it.
 * @throws PendingConversion when the result of a webhook has to be fetched first; ApiError InternalError, which names
 * the object, kind and versions, when the conversion fails in another way
 */
export function convertObject(object: ApiObject, { model, schema }: Rules, convert: Convert): ApiObject {
  try {
    const fields = readAnswer(convert === undefined ? object : convert(freezeDeep(object)));
    const converted = {
      ...fields,
      apiVersion: apiVersionOf(model),
      kind: model.kind,
      metadata: metadataOf(object.metadata, fields['metadata']),
    };
    schema.applyDefaults(converted);
    schema.prune(converted);
    return converted;
  } catch (cause) {
    if (cause instanceof PendingConversion) throw cause;
    const message = cause instanceof Error ? cause.message : String(cause);
    const { name } = object.metadata;
    throw new ApiError(
      'InternalError',
      `${model.kind} "${clip(name)}" cannot be converted from ${clip(object.apiVersion)} to ${apiVersionOf(model)}: ${clip(message)}`,
      { cause, details: { name: clip(name), group: model.group, kind: model.plural } },
    );
  }
}

function readAnswer(answer: unknown): Readonly<Record<string, unknown>> {
  if (answer instanceof Promise) {
    // The promise of an asynchronous conversion is not used, so its rejection is ignored.
    answer.catch(() => undefined);
    throw new TypeError('the conversion must be synchronous, but returned a Promise');
  }
  const copied = isJsonObject(answer) ? copyAsJsonObject(answer, objectLimits) : undefined;
  // If the result has a function `toJSON`, the value that `toJSON` returns is used.
  if (!isJsonObject(copied)) throw new TypeError('the conversion must return an object');
  return copied;
}

/**
 * Returns the metadata of a converted object. Labels and annotations come from the conversion, if it returns metadata;
 * all other fields stay unchanged.
 */
function metadataOf(before: ObjectMeta, answered: unknown): ObjectMeta {
  if (answered === undefined) return structuredClone(before);
  const [wrong] = metadataShapeErrors(answered);
  if (wrong !== undefined)
    throw new TypeError(`the conversion returned invalid metadata: ${wrong.field}: ${wrong.message}`);
  const after = answered as Partial<ObjectMeta>;
  const changed = fixedFields.find((field) => after[field] !== undefined && after[field] !== before[field]);
  if (changed !== undefined) throw new TypeError(`the conversion must not change metadata.${changed}`);
  const { labels: _labels, annotations: _annotations, ...rest } = structuredClone(before);
  const { labels, annotations } = after;
  return {
    ...rest,
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
  };
}
