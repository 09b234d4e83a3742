import { defineModel, IndexSpec, isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const time = { type: 'string', format: 'date-time', nullable: true } as const;

const reference = {
  type: 'object',
  properties: {
    apiVersion: text,
    kind: text,
    namespace: text,
    name: text,
    uid: text,
    resourceVersion: text,
    fieldPath: text,
  },
} as const;

const source = { type: 'object', properties: { component: text, host: text } } as const;
const series = { type: 'object', nullable: true, properties: { count, lastObservedTime: time } } as const;

/** The fields that a `v1 Event` and an `events.k8s.io/v1 Event` have in common. */
const common = { eventTime: time, series, action: text, reason: text, type: text, reportingInstance: text } as const;

/**
 * Returns an index over a path. The index has the name that field selectors of Kubernetes use. An absent value is
 * indexed as the empty string, because clients select absent values with `involvedObject.namespace=`, for example.
 */
function eventIndex(name: string, path = name): IndexSpec {
  const segments = path.split('.');
  const read = (event: ApiObject): string => {
    let value: unknown = event;
    for (const segment of segments) value = isJsonObject(value) ? value[segment] : undefined;
    return typeof value === 'string' ? value : '';
  };
  return new IndexSpec({ name, indexFunc: { multiValued: false, valuesOf: (event) => [read(event)] } });
}

/** Returns the indexes of a field that refers to an object. */
function referenceIndexes(field: string): readonly IndexSpec[] {
  const fields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
  return fields.map((each) => eventIndex(`${field}.${each}`));
}

/**
 * `v1 Event`: the events that `kubectl describe` and `kubectl events` show. Its columns are in views/event-columns.ts.
 */
export const eventKind: ModelDescriptor = defineModel({
  gvk: 'v1/Event',
  plural: 'events',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  shortNames: ['ev'],
  schema: {
    type: 'object',
    required: ['involvedObject'],
    properties: {
      ...common,
      involvedObject: reference,
      message: text,
      source,
      firstTimestamp: time,
      lastTimestamp: time,
      count,
      related: { ...reference, nullable: true },
      reportingComponent: text,
    },
  },
  indexes: [
    ...referenceIndexes('involvedObject'),
    eventIndex('reason'),
    eventIndex('type'),
    eventIndex('source', 'source.component'),
    eventIndex('reportingComponent'),
  ],
});

/**
 * `events.k8s.io/v1 Event`: here a kind with its own objects; in Kubernetes, another form of the objects of `v1 Event`.
 */
export const eventsGroupKind: ModelDescriptor = defineModel({
  gvk: 'events.k8s.io/v1/Event',
  plural: 'events',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  shortNames: ['ev'],
  schema: {
    type: 'object',
    properties: {
      ...common,
      reportingController: text,
      regarding: reference,
      related: { ...reference, nullable: true },
      note: text,
      deprecatedSource: source,
      deprecatedFirstTimestamp: time,
      deprecatedLastTimestamp: time,
      deprecatedCount: count,
    },
  },
  indexes: [
    ...referenceIndexes('regarding'),
    eventIndex('reason'),
    eventIndex('type'),
    eventIndex('reportingController'),
  ],
});
