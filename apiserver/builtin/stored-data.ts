import { deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { badRequest, clip } from '../registry/object/resource-errors.ts';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';

/** The maximum number of bytes of all values together, as in Kubernetes. */
export const maxDataBytes: number = 1024 * 1024;

/** Values by key, as Secrets and ConfigMaps have them. */
export type Values = Readonly<Record<string, string>>;

/** A Secret or ConfigMap. */
export interface DataObject extends ApiObject {
  readonly data?: Values | null;
  readonly binaryData?: Values | null;
  readonly immutable?: boolean | null;
}

const maxKeyLength = 253;
const keyPattern = /^[-._a-zA-Z0-9]+$/;
const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** Returns a violation for each rule that a key in a field such as `data` of a Secret or ConfigMap breaks. */
export function keyViolations(field: string, values: Values | null = {}): readonly FieldViolation[] {
  return Object.keys(values ?? {}).flatMap((key) =>
    keyProblems(key).map((rule) => ({
      field: `${field}[${key}]`,
      message: `Invalid value: ${JSON.stringify(clip(key))}: ${rule}`,
    })),
  );
}

function keyProblems(key: string): readonly string[] {
  return [
    ...(key.length > maxKeyLength ? [`must be no more than ${maxKeyLength} characters`] : []),
    ...(keyPattern.test(key) ? [] : [keyRule]),
    ...(key === '.' ? ["must not be '.'"] : []),
    ...(key === '..' ? ["must not be '..'"] : key.startsWith('..') ? ["must not start with '..'"] : []),
  ];
}

/**
 * Returns a violation for each value that is not base64. Only a webhook, or a hook of a plugin, can have set such a
 * value. The violations do not quote the values.
 */
export function base64Violations(field: string, values: Values | null = {}): readonly FieldViolation[] {
  return Object.entries(values ?? {})
    .filter(([, value]) => value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value))
    .map(([key]) => ({ field: `${field}[${key}]`, message: 'Invalid value: must be base64' }));
}

/** Returns the number of bytes that a base64 text encodes. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

/** Returns the violations of a change of an immutable object, of which only the metadata may change. */
export function immutableViolations(
  next: DataObject,
  previous: DataObject | undefined,
  fields: readonly ('data' | 'binaryData')[],
): readonly FieldViolation[] {
  if (previous?.immutable !== true) return [];
  const message = 'Forbidden: field is immutable when `immutable` is set';
  const forbidden = (field: string): FieldViolation => ({ field, message, reason: 'FieldValueForbidden' });
  return [
    ...(next.immutable === true ? [] : [forbidden('immutable')]),
    ...fields.filter((field) => !deepEqual(next[field] ?? {}, previous[field] ?? {})).map(forbidden),
  ];
}

/** Returns the error (400) for a value of a wrong type, or that is not base64. The message does not quote the value. */
export function undecodable(model: Pick<ModelDescriptor, 'kind' | 'version'>, problem: string): Error {
  return badRequest(`${model.kind} in version "${model.version}" cannot be handled as a ${model.kind}: ${problem}`);
}

interface StoredField {
  readonly model: Pick<ModelDescriptor, 'kind' | 'version'>;
  readonly field: string;
  /** True when the values are bytes in base64. */
  readonly areBytes: boolean;
}

/**
 * Checks the values of a field, and returns them by key; undefined when the field is absent or null. A null under a key
 * becomes an empty value. Base64 is returned in its canonical form. @throws ApiError BadRequest for a wrong type or
 * wrong base64; the message does not quote values
 */
export function readValues(value: unknown, { model, field, areBytes }: StoredField): Values | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw undecodable(model, `${field}: must be an object`);
  const entries = Object.entries(value).map(([key, each]: [string, unknown]) => {
    if (each === null) return [key, ''] as const;
    const place = `${field}[${JSON.stringify(clip(key))}]`;
    if (typeof each !== 'string') throw undecodable(model, `${place}: must be a string`);
    return [
      key,
      areBytes ? canonicalBase64(each, (problem) => undecodable(model, `${place}: ${problem}`)) : each,
    ] as const;
  });
  return Object.fromEntries(entries);
}

function canonicalBase64(text: string, refuse: (problem: string) => Error): string {
  const plain = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, '') : text;
  const wrong = /[^A-Za-z0-9+/]/.exec(plain.replace(/={1,2}$/, ''));
  if (wrong !== null || plain.length % 4 !== 0)
    throw refuse(`illegal base64 data at input byte ${wrong?.index ?? plain.length}`);
  return Buffer.from(plain, 'base64').toString('base64');
}

/** Returns the rules of a kind that has only one rule: `complete` completes each new or changed object. */
export function completing(complete: (object: ApiObject, stored?: ApiObject) => ApiObject): KindStrategy {
  return {
    completeNew: (object) => complete(object),
    completeNext: complete,
    checkDelete: () => undefined,
    isHeld: () => false,
    declareDeleted: (object) => object,
    finalize: (stored) => stored,
  };
}
