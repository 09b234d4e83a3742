import { defineModel, type ApiObject, type ModelDescriptor } from '../api/index.ts';
import type { InvolvedObject } from './event-correlator.ts';

/** The fields of `v1 Event` that the recorder writes. */
export interface EventObject extends ApiObject {
  readonly involvedObject: InvolvedObject;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly source: { readonly component: string };
  readonly reportingComponent: string;
}

const text = { type: 'string' } as const;
const involvedObject = {
  type: 'object',
  required: ['apiVersion', 'kind', 'name', 'uid', 'resourceVersion'],
  properties: { apiVersion: text, kind: text, namespace: text, name: text, uid: text, resourceVersion: text },
} as const;

/** The kind `v1 Event`, which any server has. `kubectl describe` and `kubectl events` show its objects. */
export const eventModel: ModelDescriptor<EventObject> = defineModel({
  gvk: 'v1/Event',
  plural: 'events',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: {
    type: 'object',
    required: [
      ...(['involvedObject', 'type', 'reason', 'message', 'count', 'firstTimestamp', 'lastTimestamp'] as const),
      ...(['source', 'reportingComponent'] as const),
    ],
    properties: {
      involvedObject,
      type: text,
      reason: text,
      message: text,
      count: { type: 'integer' },
      firstTimestamp: text,
      lastTimestamp: text,
      source: { type: 'object', required: ['component'], properties: { component: text } },
      reportingComponent: text,
    },
  },
});
