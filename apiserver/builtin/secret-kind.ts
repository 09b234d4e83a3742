import { defineModel, IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';
import {
  base64Violations,
  completing,
  decodedLength,
  immutableViolations,
  keyViolations,
  maxDataBytes,
  readValues,
  undecodable,
} from './stored-data.ts';
import type { DataObject, Values } from './stored-data.ts';

interface Secret extends DataObject {
  readonly stringData?: unknown;
  readonly type?: string;
}

const gvk = { kind: 'Secret', version: 'v1' } as const;
const defaultType = 'Opaque';

const base64Values = {
  type: 'object',
  nullable: true,
  additionalProperties: { type: 'string' },
} as const;
const textValues = { type: 'object', nullable: true, additionalProperties: { type: 'string' } } as const;

/** `v1 Secret`. Its columns are in views/data-columns.ts. */
export const secretKind: ModelDescriptor = defineModel({
  gvk: 'v1/Secret',
  plural: 'secrets',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: {
    type: 'object',
    description: 'Secret holds passwords, tokens and keys. By default, it is encrypted in the database.',
    properties: {
      data: { ...base64Values, description: 'The values in base64. Keys have letters, digits, "-", "_" and ".".' },
      stringData: {
        ...textValues,
        description: 'Values as text, for writes only: the server adds them to data, and no response contains them.',
      },
      type: { type: 'string', description: 'The purpose of the values; it cannot be changed. Default Opaque.' },
      immutable: { type: 'boolean', nullable: true, description: 'If true, the values can never be changed.' },
    },
  },
  indexes: [
    new IndexSpec<Secret>({
      name: 'type',
      indexFunc: { multiValued: false, valuesOf: ({ type = defaultType }) => [type] },
    }),
  ],
  validate: (next, previous) => secretViolations(next, previous),
});

/** The rules of Secrets. They add `stringData` to `data`, and fill in the type. No message quotes a value. */
export const secretStrategy: KindStrategy = completing((object: Secret, stored?: Secret): ApiObject => {
  const { stringData, data: sent, type, immutable, ...fields } = object;
  const texts = readValues(stringData, { model: gvk, field: 'stringData', areBytes: false });
  const bytes = readValues(sent, { model: gvk, field: 'data', areBytes: true });
  const data = texts === undefined ? bytes : { ...bytes, ...encoded(texts) };
  const secret: Secret = {
    ...fields,
    ...(data === undefined ? {} : { data }),
    type: typeOf(type) ?? stored?.type ?? defaultType,
    ...(immutable === undefined ? {} : { immutable: immutableOf(immutable) }),
  };
  return secret;
});

function encoded(texts: Values): Values {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}

function typeOf(type: unknown): string | undefined {
  if (type === undefined || type === null || type === '') return undefined;
  if (typeof type !== 'string') throw undecodable(gvk, 'type: must be a string');
  return type;
}

function immutableOf(immutable: unknown): boolean | null {
  if (immutable === null || typeof immutable === 'boolean') return immutable;
  throw undecodable(gvk, 'immutable: must be true or false');
}

function secretViolations(next: Secret, previous: Secret | undefined): readonly FieldViolation[] {
  let bytes = 0;
  for (const value of Object.values(next.data ?? {})) bytes += decodedLength(value);
  const tooLong: FieldViolation = {
    field: 'data',
    message: `Too long: may not be more than ${maxDataBytes} bytes`,
    reason: 'FieldValueTooLong',
  };
  return [
    ...keyViolations('data', next.data),
    ...base64Violations('data', next.data),
    ...(bytes > maxDataBytes ? [tooLong] : []),
    ...typeViolations(next),
    ...(previous === undefined || previous.type === next.type ? [] : [typeChanged(next)]),
    ...immutableViolations(next, previous, ['data']),
    // The server has moved stringData into data before the hooks and webhooks ran, so only a hook or a webhook can have
    // set it.
    ...(next.stringData === undefined ? [] : [hookedText]),
  ];
}

const hookedText: FieldViolation = {
  field: 'stringData',
  message: 'Forbidden: a hook must set data instead',
  reason: 'FieldValueForbidden',
};

function typeChanged({ type }: Secret): FieldViolation {
  return { field: 'type', message: `Invalid value: ${JSON.stringify(type)}: field is immutable` };
}

/**
 * Returns the violations of the rules that Kubernetes has for certain types of Secrets, such as `kubernetes.io/tls`.
 */
function typeViolations({ type = defaultType, data, metadata }: Secret): readonly FieldViolation[] {
  const has = (key: string): boolean => Object.hasOwn(data ?? {}, key);
  switch (type) {
    case 'kubernetes.io/service-account-token': {
      const annotation = 'kubernetes.io/service-account.name';
      return (metadata.annotations?.[annotation] ?? '') === '' ? [required(`metadata.annotations[${annotation}]`)] : [];
    }
    case 'kubernetes.io/dockercfg':
      return jsonViolations('.dockercfg', data);
    case 'kubernetes.io/dockerconfigjson':
      return jsonViolations('.dockerconfigjson', data);
    case 'kubernetes.io/basic-auth':
      return has('username') || has('password') ? [] : [required('data[username]'), required('data[password]')];
    case 'kubernetes.io/ssh-auth':
      return (data?.['ssh-privatekey'] ?? '') === '' ? [required('data[ssh-privatekey]')] : [];
    case 'kubernetes.io/tls':
      return ['tls.crt', 'tls.key'].filter((key) => !has(key)).map((key) => required(`data[${key}]`));
    default:
      return [];
  }
}

function required(field: string): FieldViolation {
  return { field, message: 'Required value', reason: 'FieldValueRequired' };
}

function jsonViolations(key: string, data: Values | null = {}): readonly FieldViolation[] {
  const field = `data[${key}]`;
  const value = data?.[key];
  if (value === undefined) return [required(field)];
  try {
    JSON.parse(Buffer.from(value, 'base64').toString('utf8'));
    return [];
  } catch {
    // The message leaves out the parser's error, because it would quote the value.
    return [{ field, message: 'Invalid value: "<secret contents redacted>": must be valid JSON' }];
  }
}
