import type { Admission, AdmissionHooks, AdmissionOptions } from '@homeostat/apiserver';
import { descriptorOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Model } from '@homeostat/controller-runtime/api';

const hookNames: readonly string[] = ['onCreate', 'onUpdate', 'onDelete'] satisfies (keyof AdmissionHooks)[];

/**
 * Hooks that have a say in the writes of a kind, wherever these come from. They get objects in the version of `model`.
 * Throws TypeError that names what is no hook, and what is no model.
 */
export function admit<T extends ApiObject>(
  model: Model<T>,
  hooks: AdmissionHooks<T>,
  options: AdmissionOptions = {},
): Admission<T> {
  const descriptor = descriptorOf(model);
  const problems = Object.entries(hooks).flatMap(([name, hook]) => {
    if (!hookNames.includes(name)) return [`"${name}" is unknown; there are ${hookNames.join(', ')}`];
    return hook === undefined || typeof hook === 'function' ? [] : [`"${name}" must be a function`];
  });
  if (problems.length > 0) throw new TypeError(`hooks of ${descriptor.kind}: ${problems.join('; ')}`);
  return Object.freeze({ ...options, model: descriptor, hooks: Object.freeze({ ...hooks }) });
}
