import { defineModel } from '../define/define-model.ts';
import type { ModelDescriptor } from '../model/model.ts';
import type { ApiObject } from '../object/object.ts';

/** The record of an external effect. It is written before the effect happens, and gets the result afterwards. */
export interface ExternalEffect extends ApiObject {
  readonly spec: {
    /** The controller, as `<group>/<name>`, which is also the name of its finalizer. */
    readonly controller: string;
    readonly effect: string;
    /** The idempotency key. */
    readonly key: string;
  };
  readonly status?: {
    /** The time at which the result was recorded; absent while the effect is pending. */
    readonly completionTime?: string;
    /**
     * The time after which the record is deleted. Absent while the effect is pending, and when the record is kept until
     * its owner is deleted.
     */
    readonly expirationTime?: string;
    /** The result as JSON; absent while the effect is pending, and when the effect returned undefined. */
    readonly result?: string;
  };
}

const time = { type: 'string', format: 'date-time' } as const;

/**
 * The maximum length of the JSON of an effect's result, in characters, which the schema checks. Controllers also
 * refuse a result whose JSON has more than 64 KiB.
 */
const maxResultLength = 64 * 1024;

/**
 * `controllers.homeostat.internal/v1alpha1 ExternalEffect`: the kind of the records that controllers keep of effects
 * outside of the server, so that each effect happens only once. The group is the same on every server, even on a server
 * with another service domain, because a controller in another process does not know the service domain.
 */
export const externalEffectModel: ModelDescriptor<ExternalEffect> = defineModel({
  gvk: 'controllers.homeostat.internal/v1alpha1/ExternalEffect',
  plural: 'externaleffects',
  singular: 'externaleffect',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  printerColumns: [
    { name: 'Controller', type: 'string', jsonPath: '.spec.controller' },
    { name: 'Effect', type: 'string', jsonPath: '.spec.effect' },
    { name: 'Owner', type: 'string', jsonPath: '.metadata.ownerReferences[0].name' },
    { name: 'Completed', type: 'date', jsonPath: '.status.completionTime' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['controller', 'effect', 'key'],
        properties: {
          controller: {
            type: 'string',
            maxLength: 400,
            description: 'The controller, in the form of its finalizer: <group>/<name>.',
          },
          effect: {
            type: 'string',
            minLength: 1,
            maxLength: 63,
            description: 'The name that the controller gives to the effect.',
          },
          key: { type: 'string', minLength: 1, maxLength: 64, description: 'The idempotency key, a random UUID.' },
        },
      },
      status: {
        type: 'object',
        properties: {
          completionTime: { ...time, description: 'When the result was recorded. Absent while the effect is pending.' },
          expirationTime: {
            ...time,
            description: 'When the record is deleted. If this field is absent, the record is deleted with its owner.',
          },
          result: { type: 'string', maxLength: maxResultLength, description: 'The result, as JSON.' },
        },
      },
    },
  },
});
