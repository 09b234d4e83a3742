import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { clusterRoleKind, isBindingKind, roleKind } from '../builtin/rbac-kinds.ts';
import type { Column, ColumnDefinition } from './table-columns.ts';

/** The fields that the columns read; any may have a wrong type, since the object comes from the database. */
interface RbacFields {
  readonly metadata?: { readonly name?: string; readonly creationTimestamp?: string };
  readonly roleRef?: { readonly kind?: string; readonly name?: string } | null;
  readonly subjects?: readonly SubjectFields[] | null;
}

interface SubjectFields {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

type RbacColumn = Pick<ColumnDefinition, 'name' | 'description'> &
  Partial<ColumnDefinition> & {
    readonly read: (object: RbacFields) => unknown;
  };

const nameColumn: RbacColumn = {
  name: 'Name',
  format: 'name',
  description: 'Unique within the kind.',
  read: ({ metadata }) => metadata?.name ?? '',
};

const roleColumns: readonly RbacColumn[] = [
  nameColumn,
  { name: 'Created At', description: 'The time of the creation.', read: ({ metadata }) => metadata?.creationTimestamp },
];

const bindingColumns: readonly RbacColumn[] = [
  nameColumn,
  {
    name: 'Role',
    description: 'The role that is granted.',
    read: ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}`,
  },
  {
    name: 'Age',
    type: 'date',
    description: 'Time since the creation.',
    read: ({ metadata }) => metadata?.creationTimestamp,
  },
  { name: 'Users', description: 'The users.', priority: 1, read: (binding) => namesOf(binding, 'User') },
  { name: 'Groups', description: 'The groups.', priority: 1, read: (binding) => namesOf(binding, 'Group') },
  {
    name: 'ServiceAccounts',
    description: 'The service accounts.',
    priority: 1,
    read: (binding) => namesOf(binding, 'ServiceAccount'),
  },
];

const columnsOfRoles = roleColumns.map(columnOf);
const columnsOfBindings = bindingColumns.map(columnOf);

/** Returns the columns that Kubernetes shows for roles and bindings; undefined for other kinds. */
export function rbacColumns(model: ModelDescriptor): readonly Column[] | undefined {
  if (isBindingKind(model)) return columnsOfBindings;
  const isRole = model.group === roleKind.group && [roleKind.kind, clusterRoleKind.kind].includes(model.kind);
  return isRole ? columnsOfRoles : undefined;
}

function columnOf({ name, description, read, type = 'string', format = '', priority = 0 }: RbacColumn): Column {
  return { definition: { name, type, format, description, priority }, read: (object) => read(object) };
}

/** Returns the names of the subjects of a kind, as Kubernetes lists them. */
function namesOf({ subjects }: RbacFields, kind: string): string {
  const ofKind = Array.isArray(subjects)
    ? (subjects as readonly SubjectFields[]).filter((each) => each.kind === kind)
    : [];
  return ofKind
    .map(({ name = '', namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');
}
