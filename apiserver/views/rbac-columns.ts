import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { clusterRoleKind, isBindingKind, roleKind } from '../builtin/rbac-kinds.ts';
import { metadataPaths } from './table-columns.ts';
import type { Column, ColumnDefinition, FieldPath } from './table-columns.ts';

/** The fields that the columns read. A read does not validate the stored object, so any field may have a wrong type. */
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
    readonly path: FieldPath;
  };

const nameColumn: RbacColumn = {
  name: 'Name',
  format: 'name',
  description: 'Unique within the kind and the namespace, if any.',
  read: ({ metadata }) => metadata?.name ?? '',
  path: metadataPaths.name,
};

const roleColumns: readonly RbacColumn[] = [
  nameColumn,
  {
    name: 'Created At',
    description: 'The time of the creation.',
    read: ({ metadata }) => metadata?.creationTimestamp,
    path: metadataPaths.creationTimestamp,
  },
];

const pathOfSubjects: FieldPath = ['subjects'];

const bindingColumns: readonly RbacColumn[] = [
  nameColumn,
  {
    name: 'Role',
    description: 'The role that is granted.',
    read: ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}`,
    path: ['roleRef'],
  },
  {
    name: 'Age',
    type: 'date',
    description: 'Time since the creation.',
    read: ({ metadata }) => metadata?.creationTimestamp,
    path: metadataPaths.creationTimestamp,
  },
  {
    name: 'Users',
    description: 'The users.',
    priority: 1,
    read: (binding) => namesOf(binding, 'User'),
    path: pathOfSubjects,
  },
  {
    name: 'Groups',
    description: 'The groups.',
    priority: 1,
    read: (binding) => namesOf(binding, 'Group'),
    path: pathOfSubjects,
  },
  {
    name: 'ServiceAccounts',
    description: 'The service accounts.',
    priority: 1,
    read: (binding) => namesOf(binding, 'ServiceAccount'),
    path: pathOfSubjects,
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

function columnOf({ name, description, read, path, type = 'string', format = '', priority = 0 }: RbacColumn): Column {
  return { definition: { name, type, format, description, priority }, read: (object) => read(object), paths: [path] };
}

/** Returns the names of the subjects of a kind, in the format in which Kubernetes lists them. */
function namesOf({ subjects }: RbacFields, kind: string): string {
  const ofKind = Array.isArray(subjects)
    ? (subjects as readonly SubjectFields[]).filter((each) => each.kind === kind)
    : [];
  return ofKind
    .map(({ name = '', namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');
}
