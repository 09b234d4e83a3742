import { formatKey, isJsonObject, parseKey, type ModelDescriptor, type ObjectKey } from '../../api/index.ts';

/** The maximum length of a key: the sum for the longest namespace, the slash and the longest name. */
const maxLength = 253 + 63 + 1;

/**
 * Returns a key in the form that queues use. Throws RangeError when no object of the kind can have the key. So a
 * mistake of a mapping or a source is reported where it happens; otherwise, a run would only find that the object does
 * not exist.
 */
export function workKey(given: string | ObjectKey, model: Pick<ModelDescriptor, 'kind' | 'scope'>): string {
  const key = typeof given === 'string' ? parseKey(given) : given;
  if (isKey(key) && (key.namespace !== undefined) === (model.scope === 'Namespaced')) {
    const text = formatKey(key);
    if (text.length <= maxLength) return text;
  }
  const form = model.scope === 'Namespaced' ? '<namespace>/<name>' : '<name>';
  const shown = JSON.stringify([given]).slice(1, -1).slice(0, maxLength);
  throw new RangeError(`${shown} is not a key of a ${model.kind}: write ${form}, or an object with these fields`);
}

function isKey(key: unknown): key is ObjectKey {
  if (!isJsonObject(key)) return false;
  const { name, namespace } = key;
  return isPart(name) && (namespace === undefined || isPart(namespace));
}

function isPart(part: unknown): boolean {
  return typeof part === 'string' && part !== '' && !part.includes('/');
}
