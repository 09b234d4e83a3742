import { createHash } from 'node:crypto';
import type { ApiObject, ExternalEffect, NewObject, ObjectKey } from '../../api/index.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { ownerReferenceTo } from '../definition/owner-references.ts';

type Names = Pick<ControllerDefinition, 'name' | 'finalizer'>;

/** The part of the hash that a name has: 160 bits, enough that no two effects share a name. */
const hashCharacters = 40;

/**
 * Returns the key of a record. It begins with the name of the controller, which the permissions of plugins rely on. An owner
 * without a namespace has its records in the namespace `default`, as it has its events.
 */
export function recordKey({ name, finalizer }: Names, { metadata }: ApiObject, effect: string): ObjectKey {
  const hash = createHash('sha256').update(`${finalizer}\n${metadata.uid}\n${effect}`).digest('hex');
  return { name: `${name}.${hash.slice(0, hashCharacters)}`, namespace: metadata.namespace ?? 'default' };
}

export interface Intention {
  readonly controller: Names;
  readonly owner: ApiObject;
  readonly effect: string;
  readonly key: string;
}

/** Returns the record of an effect that is to happen. It is deleted with its owner. */
export function intentionOf({ controller, owner, effect, key }: Intention): NewObject<ExternalEffect> {
  return {
    metadata: { ...recordKey(controller, owner, effect), ownerReferences: [ownerReferenceTo(owner)] },
    spec: { controller: controller.finalizer, effect, key },
  };
}
