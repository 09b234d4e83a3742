import type { ApiObject } from '../object/object.ts';
import { fieldChanges } from './field-changes.ts';
import type { FieldChange } from './field-changes.ts';

/** Names an object. */
export interface NamedObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for Cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** A field that a write changed, with its path, and its values before and after. */
export interface RecordedChange extends FieldChange {
  /** True when the values are left out, because they are confidential. */
  readonly redacted?: boolean;
  /** True when a value is too large, and `from` or `to` is the beginning of its JSON. */
  readonly cut?: boolean;
}

export interface RecordedChanges {
  readonly changes: readonly RecordedChange[];
  /** Changed fields that are left out. */
  readonly omitted: number;
}

const maxChanges = 50;
/** Characters of the JSON of a value. */
const maxValueLength = 1024;

/** Fields that say nothing of a change: those that name the object, and a copy of what was applied. */
const quietFields: readonly string[] = [
  'apiVersion',
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.annotations.kubectl.kubernetes.io/last-applied-configuration',
];

/** Without this, all metadata would count as one change. */
const empty = { metadata: {} };

/** True for kinds whose values no record may show: Secrets, and the results of external effects. */
export function isConfidential({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): boolean {
  if (kind === 'Secret') return apiVersion === 'v1';
  return kind === 'ExternalEffect' && apiVersion.startsWith('controllers.homeostat.internal/');
}

/**
 * Returns the differences between two states of an object, for a record: at most 50 fields, with values of at most
 * 1,024 characters of JSON, and without values if the kind is confidential. A state is undefined when the object did
 * not exist yet, or no longer exists.
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

/** The keys of labels and data are names; all values could be secret. */
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

/** Half of a surrogate pair cannot be written. */
function shortText(value: unknown, text: string): unknown {
  return text.length <= maxValueLength ? value : text.slice(0, maxValueLength).toWellFormed();
}
