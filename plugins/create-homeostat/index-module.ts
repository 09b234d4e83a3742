import { markerOf } from './names/part-type.ts';
import type { PartType } from './names/part-type.ts';
import { ScaffoldError } from './names/scaffold-error.ts';

export interface IndexEntry {
  readonly type: PartType;
  /** The name of the constant that the module exports. */
  readonly variable: string;
  readonly module: string;
}

const lists: Readonly<Record<PartType, string>> = { kind: 'models', controller: 'controllers', endpoint: 'endpoints' };

/** The last line of an import, which may have several lines. */
const endOfImport = /^(?:import\b.*|\}\s*from\s*)(['"])[^'"]+\1;?\s*$/;

/**
 * Returns the source of a plugin's index.ts with one more kind, controller or endpoint, as `type` says. Inserts
 * `variable` into the list `models`, `controllers` or `endpoints`, above the comment of {@link markerOf}, and an import
 * of `variable` after the other imports. Throws ScaffoldError if that comment is missing.
 */
export function addToIndex(source: string, { type, variable, module }: IndexEntry): string {
  const lines = source.split('\n');
  const marker = markerOf(type);
  const at = lines.findIndex((line) => line.trim() === marker);
  if (at < 0) {
    throw new ScaffoldError(
      `index.ts has no line "${marker}": add this line to the list of ${lists[type]}; new entries are inserted above it`,
    );
  }
  const indent = /^\s*/.exec(lines[at] ?? '')?.[0] ?? '';
  lines.splice(at, 0, `${indent}${variable},`);
  const lastImport = lines.findLastIndex((line) => endOfImport.test(line));
  lines.splice(lastImport + 1, 0, `import { ${variable} } from '${module}';`);
  return lines.join('\n');
}
