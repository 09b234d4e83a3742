import { ApiError } from '@homeostat/controller-runtime/api';
import type { FieldCause, ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import type { FieldConflict } from './apply-fields.ts';
import { countMembers, membersOf } from './field-set.ts';
import { formatFieldPath } from './path-element.ts';

/** The maximum number of fields in conflict that a response names. The count in its message includes all of them. */
const maxNamed = 100;

/** The maximum number of characters of a path that a response shows. */
const maxPathLength = 1024;

interface Contested {
  readonly manager: string;
  readonly path: string;
}

/** Returns the error (409) that names the fields in conflict and their managers, in the words of Kubernetes. */
export function applyConflict(conflicts: readonly FieldConflict[]): ApiError {
  const total = conflicts.reduce((sum, { fields }) => sum + countMembers(fields), 0);
  const count = `${total} conflict${total === 1 ? '' : 's'}`;
  const causes = conflictCauses(conflicts);
  return new ApiError('Conflict', `Apply failed with ${count}: ${describe(firstContested(conflicts))}`, { causes });
}

/** Returns a cause for each field in conflict, at most a hundred causes. */
export function conflictCauses(conflicts: readonly FieldConflict[]): readonly FieldCause[] {
  return firstContested(conflicts).map(({ manager, path }) => ({
    reason: 'FieldManagerConflict' as const,
    message: `conflict with ${manager}`,
    field: path,
  }));
}

function firstContested(conflicts: readonly FieldConflict[]): readonly Contested[] {
  const found: Contested[] = [];
  for (const { entry, fields } of conflicts) {
    for (const path of membersOf(fields)) {
      if (found.length === maxNamed) return found;
      found.push({ manager: nameOf(entry), path: formatFieldPath(path).slice(0, maxPathLength) });
    }
  }
  return found;
}

function describe(named: readonly Contested[]): string {
  const [first] = named;
  if (first !== undefined && named.length === 1) return `conflict with ${first.manager}: ${first.path}`;
  const managers = [...new Set(named.map(({ manager }) => manager))].sort();
  return managers
    .map((manager) => {
      const paths = named.filter((each) => each.manager === manager).map(({ path }) => `\n- ${path}`);
      return `conflicts with ${manager}:${paths.join('')}`;
    })
    .join('\n');
}

function nameOf({ manager, subresource, operation, apiVersion }: ManagedFieldsEntry): string {
  const place = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${place}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}
