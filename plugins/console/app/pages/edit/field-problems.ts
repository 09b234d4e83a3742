import { formatPath } from '../../base/json.ts';
import type { Path } from '../../base/json.ts';
import type { FieldCause } from '../../api/failure.ts';

/** The messages about a field. The server may write a name in brackets with quotes. */
export function problemsAt(causes: readonly FieldCause[], path: Path): readonly string[] {
  const name = formatPath(path);
  return causes.filter(({ field }) => normalized(field) === name).map(({ message }) => message);
}

function normalized(field: string): string {
  return field.replace(/^\./, '').replaceAll(/\[["']([^\]]*)["']\]/g, '[$1]');
}
