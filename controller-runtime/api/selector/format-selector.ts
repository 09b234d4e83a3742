import type { Requirement, Selector } from './selector.ts';

/**
 * Returns the canonical text of a selector. Its requirements are sorted by key; a single value is written with `=` or
 * `!=`, several values as a sorted set. The parser returns an equivalent selector for the text. Requirements `in` and
 * `notin` must have at least one value, because the grammar has no text for an empty set.
 */
export function formatSelector(selector: Selector): string {
  const sorted = [...selector].sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  return sorted.map(formatRequirement).join(',');
}

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case 'absent':
      return `!${key}`;
    case 'gt':
      return `${key}>${values.join()}`;
    case 'lt':
      return `${key}<${values.join()}`;
    case 'in':
      return values.length === 1 ? `${key}=${formatSingle(values)}` : `${key} in ${formatSet(values)}`;
    case 'notin':
      return values.length === 1 ? `${key}!=${formatSingle(values)}` : `${key} notin ${formatSet(values)}`;
  }
}

function formatSingle(values: readonly string[]): string {
  // A parenthesis opens a set only at the start of a value, so only a parenthesis at the start is escaped.
  return escapeEnds(
    values
      .join()
      .replace(/[\\,=]/g, '\\$&')
      .replace(/^\(/, '\\('),
  );
}

function formatSet(values: readonly string[]): string {
  const escaped = values.toSorted().map((value) => escapeEnds(value.replace(/[\\,=()]/g, '\\$&')));
  return `(${escaped.join(',')})`;
}

/** Escapes white space at both ends of a value, which the parser would otherwise drop. */
function escapeEnds(value: string): string {
  const core = value.trim();
  if (core === value) return value;
  const start = core === '' ? value.length : value.indexOf(core);
  return escapeEach(value.slice(0, start)) + core + escapeEach(value.slice(start + core.length));
}

function escapeEach(space: string): string {
  return space.replace(/[ \t\r\n]/g, '\\$&');
}
