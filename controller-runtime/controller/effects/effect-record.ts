import { createHash } from 'node:crypto';
import { defineModel } from '../../api/index.ts';
import type { ApiObject, ModelDescriptor, NewObject, ObjectKey } from '../../api/index.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { ownerReferenceTo } from '../definition/owner-references.ts';

/** What is recorded of an external effect: its intention before it, and its result after it. */
export interface EffectRecord extends ApiObject {
  readonly spec: {
    /** `<group>/<name>`, as in the finalizer. */
    readonly controller: string;
    readonly effect: string;
    /** The idempotency key. */
    readonly key: string;
  };
  readonly status?: {
    /** Absent: the effect is pending. */
    readonly completionTime?: string;
    /** Absent: it does not expire while its owner exists. */
    readonly expirationTime?: string;
    /** JSON; absent for undefined. */
    readonly result?: string;
  };
}

/** The kind as far as a client needs it; the server has the rules. */
export const effectRecordModel: ModelDescriptor<EffectRecord> = defineModel({
  gvk: 'controllers.homeostat.internal/v1alpha1/ExternalEffect',
  plural: 'externaleffects',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['controller', 'effect', 'key'],
        properties: { controller: { type: 'string' }, effect: { type: 'string' }, key: { type: 'string' } },
      },
      status: {
        type: 'object',
        properties: {
          completionTime: { type: 'string' },
          expirationTime: { type: 'string' },
          result: { type: 'string' },
        },
      },
    },
  } as const,
});

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
export function intentionOf({ controller, owner, effect, key }: Intention): NewObject<EffectRecord> {
  return {
    metadata: { ...recordKey(controller, owner, effect), ownerReferences: [ownerReferenceTo(owner)] },
    spec: { controller: controller.finalizer, effect, key },
  };
}
