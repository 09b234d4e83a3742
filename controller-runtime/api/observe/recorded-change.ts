import type { ApiObject } from '../object/object.ts';
import { fieldChanges } from './field-changes.ts';
import type { FieldChange } from './field-changes.ts';

/** The kind and the name of an object. */
export interface NamedObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** The namespace; absent for Cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** A field that a write changed, with its path, and its values before and after. */
export interface RecordedChange extends FieldChange {
  /** True when the values are left out, because they are confidential. */
  readonly redacted?: boolean;
  /** True when a value is too large, so that `from` or `to` is only the beginning of its JSON. */
  readonly cut?: boolean;
}

export interface RecordedChanges {
  readonly changes: readonly RecordedChange[];
  /** The number of changed fields after the first 50, which `changes` leaves out. */
  readonly omitted: number;
}

const maxChanges = 50;
/** The maximum length of a recorded value, in characters of JSON. */
const maxValueLength = 1024;

/**
 * Fields that a record leaves out, because they say nothing about a change: the fields that name the object, and the
 * annotation with a copy of the applied object.
 */
const quietFields: readonly string[] = [
  'apiVersion',
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.annotations.kubectl.kubernetes.io/last-applied-configuration',
];

/**
 * The state that stands for an absent object. Because it has an empty metadata, each field of metadata counts as a
 * separate change.
 */
const empty = { metadata: {} };

/** True for the kinds whose values must not be recorded: Secret, and ExternalEffect, which has an effect's result. */
export function isConfidential({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): boolean {
  if (kind === 'Secret') return apiVersion === 'v1';
  return kind === 'ExternalEffect' && apiVersion.startsWith('controllers.homeostat.internal/');
}

/**
 * Returns the changed fields between two states of an object: at most 50 fields, with values of at most 1,024
 * characters of JSON, and without values if `isSecret` returns true for the object. `before` is undefined when the
 * object did not exist yet; `after` is undefined when the object no longer exists.
 */
export function recordedChanges(
  before: ApiObject | undefined,
  after: ApiObject | undefined,
  isSecret: (object: ApiObject) => boolean = isConfidential,
): RecordedChanges {
  const object = after ?? before;
  const redacts = object !== undefined && isSecret(object);
  const all = fieldChanges(before ?? empty, after ?? empty).filter(({ path }) => !quietFields.includes(path));
  const changes = all.slice(0, maxChanges).map((change) => (redacts ? redacted(change) : shortened(change)));
  return { changes, omitted: all.length - changes.length };
}

/**
 * Removes the values from a change of a confidential kind, because any of them could be secret. The path remains,
 * because the keys of labels and data are only names.
 */
function redacted({ path }: FieldChange): RecordedChange {
  return { path, redacted: true };
}

function shortened(change: FieldChange): RecordedChange {
  const texts = [change.from, change.to].map((value) => (value === undefined ? '' : JSON.stringify(value)));
  if (texts.every((text) => text.length <= maxValueLength)) return change;
  const [from = '', to = ''] = texts;
  return {
    path: change.path,
    ...(change.from === undefined ? {} : { from: shortText(change.from, from) }),
    ...(change.to === undefined ? {} : { to: shortText(change.to, to) }),
    cut: true,
  };
}

/**
 * Cuts a text that is too long. The result must not end with half of a surrogate pair, which has no encoding in UTF-8.
 */
function shortText(value: unknown, text: string): unknown {
  return text.length <= maxValueLength ? value : text.slice(0, maxValueLength).toWellFormed();
}
