import { ApiError } from '@homeostat/controller-runtime/api';
import type { ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import type { FieldConflict } from './apply-fields.ts';
import { membersOf } from './field-set.ts';
import { formatFieldPath } from './path-element.ts';

/** Fields that an answer names; the message counts all of them. */
const maxNamed = 100;

/** Characters of a path that an answer shows. */
const maxPathLength = 1024;

/** 409 that names each field and its manager, in Kubernetes' words. */
export function applyConflict(conflicts: readonly FieldConflict[]): ApiError {
  const found = conflicts.flatMap(({ entry, fields }) =>
    Array.from(membersOf(fields), (path) => ({
      manager: nameOf(entry),
      path: formatFieldPath(path).slice(0, maxPathLength),
    })),
  );
  const named = found.slice(0, maxNamed);
  const causes = named.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict' as const,
    message: `conflict with ${manager}`,
    field: path,
  }));
  const count = `${found.length} conflict${found.length === 1 ? '' : 's'}`;
  return new ApiError('Conflict', `Apply failed with ${count}: ${describe(named)}`, { causes });
}

function describe(named: readonly { manager: string; path: string }[]): string {
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
