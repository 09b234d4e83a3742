import type { Admission, AdmissionHooks, AdmissionOptions } from '@homeostat/apiserver';
import { descriptorOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Model } from '@homeostat/controller-runtime/api';

const hookNames = ['onCreate', 'onUpdate', 'onDelete'] as const satisfies (keyof AdmissionHooks)[];

/**
 * Declares hooks that may change or refuse every write of a kind. The hooks receive objects in the version of `model`.
 * `hooks` may be an instance of a class. Throws a TypeError that names the wrong hook or model.
 */
export function admit<T extends ApiObject>(
  model: Model<T>,
  hooks: AdmissionHooks<T>,
  options: AdmissionOptions = {},
): Admission<T> {
  const descriptor = descriptorOf(model);
  const problems = [...strangersOf(hooks), ...hookNames.flatMap((name) => problemOf(name, hooks[name]))];
  if (problems.length > 0) throw new TypeError(`hooks of ${descriptor.kind}: ${problems.join('; ')}`);
  const bound: AdmissionHooks<T> = {
    ...(hooks.onCreate === undefined ? {} : { onCreate: hooks.onCreate.bind(hooks) }),
    ...(hooks.onUpdate === undefined ? {} : { onUpdate: hooks.onUpdate.bind(hooks) }),
    ...(hooks.onDelete === undefined ? {} : { onDelete: hooks.onDelete.bind(hooks) }),
  };
  return Object.freeze({ ...options, model: descriptor, hooks: Object.freeze(bound) });
}

/**
 * Returns a problem for each field that is not a hook, if the object is a plain object. An instance of a class may have
 * other fields.
 */
function strangersOf(hooks: object): readonly string[] {
  const prototype: unknown = Object.getPrototypeOf(hooks);
  if (prototype !== Object.prototype) return [];
  const known: readonly string[] = hookNames;
  return Object.keys(hooks)
    .filter((name) => !known.includes(name))
    .map((name) => `"${name}" is unknown; the hooks are ${known.join(', ')}`);
}

function problemOf(name: string, hook: unknown): readonly string[] {
  return hook === undefined || typeof hook === 'function' ? [] : [`"${name}" must be a function`];
}
