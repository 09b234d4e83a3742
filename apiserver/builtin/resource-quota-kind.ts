import { defineModel, IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor, NamespacedObject } from '@homeostat/controller-runtime/api';

type Amounts = Readonly<Record<string, string | number>>;

/** `v1 ResourceQuota`, which limits the number of objects in a namespace. */
export interface ResourceQuotaObject extends NamespacedObject {
  readonly spec?: { readonly hard?: Amounts };
  readonly status?: {
    readonly hard?: Amounts;
    readonly used?: Amounts;
    /** The replica that counts the objects under this quota. Only this replica may create such objects. */
    readonly counter?: string;
  };
}

/** Matches a key in `spec.hard`: `count/persons.people.example.com`, or `count/secrets` for kinds of the core group. */
const keyForm = /^count\/[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/;

const units: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['Ki', 1024],
  ['Mi', 1024 ** 2],
]);

/**
 * Returns the number for an amount such as `5`, `"5"` or `"2k"`. Returns undefined for an amount that is negative, is
 * not a whole number, has more than 12 digits, or has a unit other than k, M, Ki and Mi.
 */
export function parseCount(amount: unknown): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,12})(k|M|Ki|Mi)?$/.exec(String(amount)) ?? [];
  return digits === undefined ? undefined : Number(digits) * (units.get(unit) ?? Number.NaN);
}

const amounts = {
  type: 'object',
  maxProperties: 100,
  additionalProperties: { 'x-kubernetes-int-or-string': true },
} as const;

/** The name of a quota's unique index. Its value names the replica that counts the objects under the quota. */
export const counterIndex = 'counter';

/**
 * Returns the value of a quota's claim. The store refuses a creation under the quota when this claim is missing. The
 * value names the quota's uid and generation, and the replica that counts the objects under the quota.
 */
export function counterValue({ uid, generation }: ApiObject['metadata'], counter: string): string {
  return `${uid}/${generation}/${counter}`;
}

/**
 * The unique index of a quota. Its only value names the quota's uid and generation, and the replica that counts the
 * objects under the quota ({@link counterValue}). Each creation under the quota requires the claim of this value. When
 * another replica begins to count, or the limits change, the quota gets another value. Then the store refuses creations
 * that require the old claim, and the server decides about them again.
 */
const counterOfQuota = new IndexSpec<ResourceQuotaObject>({
  name: counterIndex,
  unique: true,
  indexFunc: {
    multiValued: false,
    valuesOf: ({ metadata, status: { counter } = {} }) =>
      counter === undefined || metadata.uid === undefined ? [] : [counterValue(metadata, counter)],
  },
});

/** `v1 ResourceQuota`, for the number of objects of a kind in a namespace. */
export const resourceQuotaKind: ModelDescriptor = defineModel({
  gvk: 'v1/ResourceQuota',
  plural: 'resourcequotas',
  singular: 'resourcequota',
  shortNames: ['quota'],
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  printerColumns: [
    { name: 'Hard', type: 'string', jsonPath: '.status.hard' },
    { name: 'Used', type: 'string', jsonPath: '.status.used' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { hard: amounts } },
      status: {
        type: 'object',
        properties: {
          hard: amounts,
          used: amounts,
          counter: { type: 'string', description: 'The replica of the server that currently counts the objects.' },
        },
      },
    },
  },
  indexes: [counterOfQuota],
  validate: ({ spec }) => Object.entries(spec?.hard ?? {}).flatMap(problemsOf),
});

function problemsOf([key, amount]: readonly [string, unknown]): readonly { field: string; message: string }[] {
  const field = `spec.hard[${JSON.stringify(key)}]`;
  if (!keyForm.test(key)) {
    const message = 'Invalid value: this server counts objects only: must be count/<plural>.<group>, or count/<plural>';
    return [{ field, message }];
  }
  if (parseCount(amount) !== undefined) return [];
  return [{ field, message: 'Invalid value: must be a whole number that is not negative, such as 5 or 2k' }];
}
