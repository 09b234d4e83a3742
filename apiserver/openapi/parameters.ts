import { defaultIndexes } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { OpenApiSchema, Parameter } from './open-api.ts';

const text: OpenApiSchema = { type: 'string' };
const flag: OpenApiSchema = { type: 'boolean' };

/** A variable of a path. */
export function pathParameter(name: string, description?: string): Parameter {
  return { name, in: 'path', required: true, ...(description === undefined ? {} : { description }), schema: text };
}

export const nameParameter: Parameter = pathParameter('name', 'Name of the object.');
export const namespaceParameter: Parameter = pathParameter('namespace', 'Namespace of the object.');

const dryRun = query(
  'dryRun',
  { ...text, enum: ['All'] },
  'All: the response is the same as without dryRun, but nothing is stored.',
);
const resourceVersion = query(
  'resourceVersion',
  text,
  'The response is not older than this revision. With 0, the server responds from memory, without a wait.',
);

const readable: readonly Parameter[] = [
  query('pretty', flag, 'true: indents JSON. Default true for curl, Wget and pages that a browser opens.'),
  query(
    'managedFields',
    flag,
    'false: leaves out metadata.managedFields from JSON. Default false for curl, Wget and pages that a browser opens.',
  ),
];

/** The parameters of GET on an object. */
export const getParameters: readonly Parameter[] = [resourceVersion, ...readable];

/**
 * The parameters of POST and PUT. PATCH has them, too, because kubectl uses dryRun and fieldValidation only if the
 * document has them for PATCH.
 */
export const writeParameters: readonly Parameter[] = [
  dryRun,
  query(
    'fieldValidation',
    { ...text, enum: ['Ignore', 'Warn', 'Strict'] },
    'What to do with unknown fields: nothing, a Warning header (the default), or 400.',
  ),
  query('fieldManager', { ...text, maxLength: 128 }, 'Who writes.'),
];

/** Parameters of PATCH. */
export const patchParameters: readonly Parameter[] = [
  ...writeParameters,
  query('force', flag, 'For apply patches: take over fields that other managers own.'),
];

/** Parameters of DELETE. */
export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query(
    'propagationPolicy',
    { ...text, enum: ['Foreground', 'Background', 'Orphan'] },
    'The effect of the deletion on the dependents of the object.',
  ),
  query('orphanDependents', flag, 'The old form of propagationPolicy.'),
];

/** Returns the parameters that select objects of a kind. */
export function selectionParameters(model: ModelDescriptor): readonly Parameter[] {
  // The texts are code spans, because descriptions are Markdown, where a < outside of code starts a tag.
  const grammar = '`key=value`, `key!=value`, `key`, `!key`, `key in (a,b)`, `key notin (a,b)`';
  return [
    query('labelSelector', text, `Requirements on labels, joined by commas: ${grammar}, \`key>n\`, \`key<n\`.`),
    query(
      'fieldSelector',
      text,
      `Requirements on indexed fields, joined by commas: ${grammar}, \`key=(a,b)\`. Fields: ${fieldsOf(model)}.`,
    ),
  ];
}

/** Returns the parameters of GET on a collection: for the selection, the order, pages or chunks, and watches. */
export function listParameters(model: ModelDescriptor): readonly Parameter[] {
  return [
    ...selectionParameters(model),
    ...orderParameters(model),
    ...chunkParameters,
    ...watchParameters,
    ...readable,
  ];
}

function orderParameters(model: ModelDescriptor): readonly Parameter[] {
  return [
    query(
      'sort',
      { type: 'array', maxItems: 8, items: text },
      'Sorts the list by a field: `field,asc` or `field,desc`. Repeat the parameter to sort by several fields, ' +
        `the most significant first. Default: metadata.creationTimestamp,desc. Fields: ${fieldsOf(model)}.`,
    ),
    query('page', { type: 'integer', minimum: 1 }, 'Number of the page, from 1. Not with limit or continue.'),
    query('size', { type: 'integer', minimum: 0 }, 'Objects on a page; 0, the default: all.'),
  ];
}

const chunkParameters: readonly Parameter[] = [
  query('limit', { type: 'integer', minimum: 0 }, 'Objects in a chunk; 0, the default: all.'),
  query('continue', text, 'The metadata.continue of the previous chunk: requests the next chunk.'),
  resourceVersion,
  query(
    'resourceVersionMatch',
    { ...text, enum: ['Exact', 'NotOlderThan'] },
    'How resourceVersion is compared. A request with sendInitialEvents must set NotOlderThan.',
  ),
];

const watchParameters: readonly Parameter[] = [
  query(
    'watch',
    flag,
    'Respond with changes after resourceVersion, until the client disconnects or the timeout passes.',
  ),
  query('allowWatchBookmarks', flag, 'For watches: send bookmarks.'),
  query('sendInitialEvents', flag, 'For watches: send the current objects first.'),
  query(
    'timeoutSeconds',
    { type: 'integer', minimum: 0 },
    'For watches: the time after which the watch ends. Default 30 to 60 minutes.',
  ),
];

function query(name: string, schema: OpenApiSchema, description: string): Parameter {
  return { name, in: 'query', description, schema };
}

/** Returns the names of the fields by which lists may select and sort. */
function fieldsOf({ indexes }: ModelDescriptor): string {
  return [...defaultIndexes(), ...indexes].map(({ name }) => name).join(', ');
}
