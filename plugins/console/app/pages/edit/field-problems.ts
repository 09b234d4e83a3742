import { formatPath } from '../../base/json.ts';
import type { Path } from '../../base/json.ts';
import type { FieldCause } from '../../api/failure.ts';

/** Returns the messages of the causes that name a field. `a["b.c"]` and `.a[b.c]` name the same field as `a[b.c]`. */
export function problemsAt(causes: readonly FieldCause[], path: Path): readonly string[] {
  const name = formatPath(path);
  return causes.filter(({ field }) => normalized(field) === name).map(({ message }) => message);
}

function normalized(field: string): string {
  return field.replace(/^\./, '').replaceAll(/\[["']([^\]]*)["']\]/g, '[$1]');
}
