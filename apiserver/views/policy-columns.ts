import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { admissionPolicyBindingKind, admissionPolicyKind } from '../builtin/admission-policy-kinds.ts';
import { metadataPaths } from './table-columns.ts';
import type { Column } from './table-columns.ts';

/** The fields that the columns read. A read does not validate the stored object, so any field may have a wrong type. */
interface Fields {
  readonly metadata?: { readonly name?: string; readonly creationTimestamp?: string };
  readonly spec?: {
    readonly validations?: unknown;
    readonly paramKind?: { readonly apiVersion?: string; readonly kind?: string };
    readonly policyName?: string;
    readonly paramRef?: { readonly name?: string; readonly namespace?: string };
  };
}

/** The text of a cell whose field is absent. */
const unset = '<unset>';

const name: Column = {
  definition: { name: 'Name', type: 'string', format: 'name', description: 'Unique within the kind.', priority: 0 },
  read: ({ metadata }: Fields) => metadata?.name ?? '',
  paths: [metadataPaths.name],
};

const age: Column = {
  definition: { name: 'Age', type: 'date', format: '', description: 'Time since the creation.', priority: 0 },
  read: ({ metadata }: Fields) => metadata?.creationTimestamp,
  paths: [metadataPaths.creationTimestamp],
};

function column(title: string, description: string, read: (fields: Fields) => unknown): Column {
  const type = title === 'Validations' ? 'integer' : 'string';
  return { definition: { name: title, type, format: '', description, priority: 0 }, read, paths: [['spec']] };
}

const columnsOfPolicies: readonly Column[] = [
  name,
  column('Validations', 'The number of validations.', ({ spec }) =>
    Array.isArray(spec?.validations) ? spec.validations.length : 0,
  ),
  column('ParamKind', 'The kind of the parameters.', ({ spec }) => {
    const { apiVersion, kind } = spec?.paramKind ?? {};
    return kind === undefined ? unset : `${apiVersion ?? ''}/${kind}`;
  }),
  age,
];

const columnsOfBindings: readonly Column[] = [
  name,
  column('PolicyName', 'The policy that is put into effect.', ({ spec }) => spec?.policyName ?? ''),
  column(
    'ParamRef',
    'The object with the parameters, as namespace/name or only its name; * when the reference has no name.',
    ({ spec }) => {
      const { paramRef } = spec ?? {};
      if (paramRef === undefined) return unset;
      const named = paramRef.name ?? '*';
      return paramRef.namespace === undefined ? named : `${paramRef.namespace}/${named}`;
    },
  ),
  age,
];

/** Returns the columns that Kubernetes shows for policies and their bindings; undefined for other kinds. */
export function policyColumns({ group, kind }: ModelDescriptor): readonly Column[] | undefined {
  if (group !== admissionPolicyKind.group) return undefined;
  if (kind === admissionPolicyKind.kind) return columnsOfPolicies;
  return kind === admissionPolicyBindingKind.kind ? columnsOfBindings : undefined;
}
