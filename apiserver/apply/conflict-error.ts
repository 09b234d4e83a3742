import { ApiError } from '@homeostat/controller-runtime/api';
import type { FieldCause, ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import type { FieldConflict } from './apply-fields.ts';
import { membersOf } from './field-set.ts';
import { formatFieldPath } from './path-element.ts';

/** Fields that an answer names; the message counts all of them. */
const maxNamed = 100;

/** Characters of a path that an answer shows. */
const maxPathLength = 1024;

interface Contested {
  readonly manager: string;
  readonly path: string;
}

/** 409 that names each field and its manager, in Kubernetes' words. */
export function applyConflict(conflicts: readonly FieldConflict[]): ApiError {
  const found = contestedOf(conflicts);
  const count = `${found.length} conflict${found.length === 1 ? '' : 's'}`;
  const causes = conflictCauses(conflicts);
  return new ApiError('Conflict', `Apply failed with ${count}: ${describe(found.slice(0, maxNamed))}`, { causes });
}

/** A cause for each field, a hundred at most. */
export function conflictCauses(conflicts: readonly FieldConflict[]): readonly FieldCause[] {
  return contestedOf(conflicts)
    .slice(0, maxNamed)
    .map(({ manager, path }) => ({
      reason: 'FieldManagerConflict' as const,
      message: `conflict with ${manager}`,
      field: path,
    }));
}

function contestedOf(conflicts: readonly FieldConflict[]): readonly Contested[] {
  return conflicts.flatMap(({ entry, fields }) =>
    Array.from(membersOf(fields), (path) => ({
      manager: nameOf(entry),
      path: formatFieldPath(path).slice(0, maxPathLength),
    })),
  );
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
