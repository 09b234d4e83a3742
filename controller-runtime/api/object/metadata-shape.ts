import { isJsonObject } from '../base/json-object.ts';
import { takeCauses } from '../errors/field-cause.ts';
import type { FieldCause } from '../errors/status.ts';

/** The required JSON type of a value, and of all values inside it. */
interface Shape {
  /** True when the value has the type. It makes no message, because it is called at every write and has to be fast. */
  fits(value: unknown): boolean;
  /** Returns the violations in a value and in all values inside it. */
  explain(value: unknown, field: string): Iterable<FieldCause>;
}

const text = scalar('a string', (value) => typeof value === 'string');
const integer = scalar('an integer', Number.isSafeInteger);
const flag = scalar('a boolean', (value) => typeof value === 'boolean');

const ownerReferenceShapes: Readonly<Record<string, Shape>> = {
  apiVersion: text,
  kind: text,
  name: text,
  uid: text,
  controller: flag,
  blockOwnerDeletion: flag,
};

const metadataShapes: Readonly<Record<string, Shape>> = {
  name: text,
  generateName: text,
  namespace: text,
  uid: text,
  version: integer,
  resourceVersion: text,
  generation: integer,
  creationTimestamp: text,
  deletionTimestamp: text,
  deletionGracePeriodSeconds: integer,
  finalizers: listOf(text),
  labels: mapOf(text),
  annotations: mapOf(text),
  ownerReferences: listOf(recordOf(ownerReferenceShapes)),
  managedFields: listOf(recordOf({})),
  // Kubernetes removed this field long ago, but old clients still send it. It counts as a known field, so that it
  // causes no warning.
  selfLink: text,
};

const metadataShape = recordOf(metadataShapes);

/** The known fields of metadata; all other fields are pruned. */
export const metadataFieldNames: ReadonlySet<string> = new Set(Object.keys(metadataShapes));

/** The known fields of one owner reference. */
export const ownerReferenceFieldNames: ReadonlySet<string> = new Set(Object.keys(ownerReferenceShapes));

/**
 * Returns the violations for wrong JSON types inside an object's metadata, at most 100. The code that reads requests
 * refuses metadata with wrong types (400), because later checks assume the right types. An entry of managedFields must
 * be an object; its fields are not checked. Unknown fields are ignored. A known field that is null counts as absent,
 * because Kubernetes' clients send `creationTimestamp: null`.
 */
export function metadataShapeErrors(metadata: unknown): FieldCause[] {
  return metadataShape.fits(metadata) ? [] : takeCauses(metadataShape.explain(metadata, 'metadata'));
}

function scalar(expected: string, isRight: (value: unknown) => boolean): Shape {
  return {
    fits: isRight,
    explain: (value, field) => (isRight(value) ? [] : [mismatch(value, field, expected)]),
  };
}

function recordOf(shapes: Readonly<Record<string, Shape>>): Shape {
  const fields = new Map(Object.entries(shapes));
  return {
    fits: (value) => isJsonObject(value) && Object.keys(value).every((name) => fits(fields.get(name), value[name])),
    *explain(value, field) {
      if (!isJsonObject(value)) {
        yield mismatch(value, field, 'an object');
        return;
      }
      for (const [name, shape] of fields) {
        const present = Object.hasOwn(value, name) ? value[name] : undefined;
        if (!fits(shape, present)) yield* shape.explain(present, `${field}.${name}`);
      }
    },
  };
}

/**
 * True when the value has the type. An unknown field, for which `shape` is undefined, may have any value. A known field
 * may also be null.
 */
function fits(shape: Shape | undefined, value: unknown): boolean {
  return shape === undefined || value === undefined || value === null || shape.fits(value);
}

function mapOf(shape: Shape): Shape {
  return {
    fits: (value) => isJsonObject(value) && Object.keys(value).every((key) => shape.fits(value[key])),
    *explain(value, field) {
      if (!isJsonObject(value)) {
        yield mismatch(value, field, 'an object');
        return;
      }
      for (const [key, item] of Object.entries(value)) yield* shape.explain(item, `${field}[${JSON.stringify(key)}]`);
    },
  };
}

function listOf(shape: Shape): Shape {
  return {
    fits: (value) => Array.isArray(value) && value.every((item) => shape.fits(item)),
    *explain(value, field) {
      if (!Array.isArray(value)) {
        yield mismatch(value, field, 'an array');
        return;
      }
      for (const [index, item] of value.entries()) yield* shape.explain(item, `${field}[${index}]`);
    },
  };
}

function mismatch(value: unknown, field: string, expected: string): FieldCause {
  return {
    reason: 'FieldValueTypeInvalid',
    message: `Invalid value: ${jsonTypeOf(value)}: expected ${expected}`,
    field,
  };
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
