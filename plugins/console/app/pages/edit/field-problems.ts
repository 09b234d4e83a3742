import { formatPath } from '../../base/json.ts';
import type { Path } from '../../base/json.ts';
import type { FieldCause } from '../../api/failure.ts';

/** Returns the messages about a field. Ignores quotes that the server puts around a name in brackets. */
export function problemsAt(causes: readonly FieldCause[], path: Path): readonly string[] {
  const name = formatPath(path);
  return causes.filter(({ field }) => normalized(field) === name).map(({ message }) => message);
}

function normalized(field: string): string {
  return field.replace(/^\./, '').replaceAll(/\[["']([^\]]*)["']\]/g, '[$1]');
}
