import { dump } from 'js-yaml';
import { styleText } from 'node:util';
import { printable } from './print.ts';
import { unifiedDiff } from './unified-diff.ts';
import { withoutManagedFields, withSortedKeys } from '../server-object.ts';
import type { ServerObject } from '../server-object.ts';

/** Returns the difference of two versions of an object as a unified diff of their YAML; '' when they are equal. */
export function objectDiff(name: string, before: ServerObject | undefined, after: ServerObject | undefined): string {
  const [old, next] = [yamlOf(before), yamlOf(after)];
  if (old === next) return '';
  return `--- live/${name}\n+++ next/${name}\n${unifiedDiff(old, next)}`;
}

/** Fields of metadata that the server sets, and that a diff leaves out. */
const changing: ReadonlySet<string> = new Set(['creationTimestamp', 'generation', 'resourceVersion', 'uid', 'version']);

function yamlOf(object: ServerObject | undefined): string {
  if (object === undefined) return '';
  const { metadata, ...rest } = withoutManagedFields(object);
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => !changing.has(name)));
  return dump(withSortedKeys({ ...rest, metadata: kept }));
}

/**
 * Replaces the control characters of a unified diff. For a terminal, it also colours lines: added ones green, removed
 * ones red, and the heads of hunks cyan.
 */
export function coloured(diff: string, isTerminal: boolean): string {
  const lines = diff.split('\n').map(printable);
  return isTerminal ? lines.map(colouredLine).join('\n') : lines.join('\n');
}

function colouredLine(line: string): string {
  if (line.startsWith('+')) return styleText('green', line);
  if (line.startsWith('-')) return styleText('red', line);
  return line.startsWith('@@') ? styleText('cyan', line) : line;
}
