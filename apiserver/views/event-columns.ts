import { metadataPaths } from './table-columns.ts';
import type { ColumnDefinition, Column, FieldPath } from './table-columns.ts';

/**
 * The fields of an event that the columns read. A read does not validate the stored event, so any field may have a
 * wrong type.
 */
interface EventFields {
  readonly metadata?: { readonly name?: string; readonly creationTimestamp?: string };
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly fieldPath?: string };
  readonly source?: { readonly component?: string; readonly host?: string } | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string | null } | null;
  readonly eventTime?: string | null;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

interface EventColumn {
  readonly name: string;
  readonly description: string;
  readonly priority?: number;
  readonly type?: ColumnDefinition['type'];
  readonly format?: string;
  readonly read: (event: EventFields) => unknown;
}

/**
 * The paths of all fields that the columns read. Even in a large event these fields are small, and the server parses
 * only them.
 */
const shownPaths: readonly FieldPath[] = [
  metadataPaths.name,
  metadataPaths.creationTimestamp,
  ['involvedObject'],
  ['source'],
  ['series'],
  ['eventTime'],
  ['firstTimestamp'],
  ['lastTimestamp'],
  ['type'],
  ['reason'],
  ['message'],
  ['count'],
  ['reportingComponent'],
  ['reportingInstance'],
];

const eventColumns: readonly EventColumn[] = [
  { name: 'Last Seen', type: 'date', description: 'Time since the event was last observed.', read: lastSeen },
  { name: 'Type', description: 'Normal, or Warning.', read: ({ type }) => type },
  { name: 'Reason', description: 'The reason, in one word.', read: ({ reason }) => reason },
  { name: 'Object', description: 'The object that the event concerns.', read: objectOf },
  {
    name: 'Subobject',
    description: 'The path of the field that the event concerns.',
    priority: 1,
    read: ({ involvedObject }) => involvedObject?.fieldPath ?? '',
  },
  { name: 'Source', description: 'The component that reported the event.', priority: 1, read: sourceOf },
  { name: 'Message', description: 'What happened.', read: ({ message = '' }) => message.trim() },
  {
    name: 'First Seen',
    type: 'date',
    description: 'Time since the event was first observed.',
    priority: 1,
    read: firstSeen,
  },
  {
    name: 'Count',
    type: 'integer',
    description: 'The number of times that the event was observed.',
    priority: 1,
    read: ({ series, count }) => series?.count ?? count ?? 1,
  },
  {
    name: 'Name',
    format: 'name',
    description: 'Unique within the namespace.',
    priority: 1,
    read: ({ metadata }) => metadata?.name ?? '',
  },
];

/** The columns that Kubernetes shows for `v1 Event`. Unlike most kinds, it has no name in the first column. */
export const columnsOfEvents: readonly Column[] = eventColumns.map(
  ({ name, description, read, type = 'string', format = '', priority = 0 }) => ({
    definition: { name, type, format, description, priority },
    read: (event) => read(event),
    paths: shownPaths,
  }),
);

function lastSeen(event: EventFields): string | undefined {
  return event.series?.lastObservedTime ?? event.lastTimestamp ?? firstSeen(event);
}

function firstSeen({ firstTimestamp, eventTime, metadata }: EventFields): string | undefined {
  return firstTimestamp ?? eventTime ?? metadata?.creationTimestamp;
}

function objectOf({ involvedObject = {} }: EventFields): string {
  const { kind = '', name = '' } = involvedObject;
  return kind === '' ? name : `${kind.toLowerCase()}/${name}`;
}

function sourceOf({ source, reportingComponent, reportingInstance }: EventFields): string {
  const component = source?.component ?? reportingComponent ?? '';
  const host = source?.host ?? reportingInstance ?? '';
  return [component, host].filter((part) => part !== '').join(', ');
}
