import { isJsonObject } from '@homeostat/controller-runtime/api';
import { formatAge } from '@homeostat/controller-runtime/api';
import { printable } from './print.ts';
import { withSortedKeys } from '../server-object.ts';
import type { ServerObject } from '../server-object.ts';

export interface DescribedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly from: string;
  readonly count: number;
  readonly lastMs: number;
}

/** Fields of metadata that are left out: those that do not help a reader, and those that have lines of their own. */
const leftOut: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'labels',
  'annotations',
  'managedFields',
  'selfLink',
]);

/** Returns an object as text in the form of `kubectl describe`. */
export function describeObject(object: ServerObject, events: readonly DescribedEvent[], nowMs: number): string {
  const { apiVersion, kind, metadata, ...rest } = object;
  const fields = Object.fromEntries(Object.entries(metadata).filter(([name]) => !leftOut.has(name)));
  const lines = [
    ...pairs([
      ['Name', metadata.name],
      ['Namespace', metadata.namespace ?? ''],
      ['Labels', keyValues(metadata['labels'], '=')],
      ['Annotations', keyValues(metadata['annotations'], ': ')],
      ['API Version', apiVersion],
      ['Kind', kind],
    ]),
    ...fieldLines('metadata', withSortedKeys(fields), ''),
    ...Object.entries(withSortedKeys(rest)).flatMap(([name, value]) =>
      fieldLines(name, isSecret(object, name) ? sizes(value) : value, ''),
    ),
    ...eventLines(events, nowMs),
  ];
  return `${lines.join('\n')}\n`;
}

/** True for the data of a Secret, of which only the sizes are printed, as in kubectl. */
function isSecret({ apiVersion, kind }: ServerObject, field: string): boolean {
  return apiVersion === 'v1' && kind === 'Secret' && field === 'data';
}

function sizes(data: unknown): unknown {
  if (!isJsonObject(data)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, `${Buffer.from(String(value), 'base64').length} bytes`]),
  );
}

function pairs(entries: readonly (readonly [string, string | readonly string[]])[]): readonly string[] {
  const width = Math.max(...entries.map(([name]) => name.length)) + 3;
  return entries.flatMap(([name, value]) => {
    const [first = '', ...more] = typeof value === 'string' ? [value] : value;
    return [`${`${name}:`.padEnd(width)}${first}`.trimEnd(), ...more.map((line) => `${' '.repeat(width)}${line}`)];
  });
}

function keyValues(value: unknown, separator: string): readonly string[] {
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  if (entries.length === 0) return ['<none>'];
  return entries.map(([key, each]) => printable(`${key}${separator}${String(each)}`));
}

/** Returns the lines of a field, indented by its depth, with the name in words, such as `Observed Generation`. */
function fieldLines(name: string, value: unknown, indent: string): readonly string[] {
  const title = `${indent}${printable(words(name))}:`;
  if (Array.isArray(value)) return [title, ...value.flatMap((item) => itemLines(item, `${indent}  `))];
  if (isJsonObject(value)) return [title, ...objectLines(value, `${indent}  `)];
  return [...text(title, String(value), indent)];
}

function objectLines(value: Readonly<Record<string, unknown>>, indent: string): readonly string[] {
  return Object.entries(value).flatMap(([name, each]) => fieldLines(name, each, indent));
}

function itemLines(item: unknown, indent: string): readonly string[] {
  if (isJsonObject(item)) return objectLines(item, indent);
  if (Array.isArray(item)) return item.flatMap((each) => itemLines(each, `${indent}  `));
  return [`${indent}${printable(String(item))}`];
}

/** Returns the lines of a text. A text of several lines is printed below its name. */
function text(title: string, value: string, indent: string): readonly string[] {
  const lines = value.replace(/\n$/, '').split('\n').map(printable);
  return lines.length === 1 ? [`${title}  ${lines[0]}`] : [title, ...lines.map((line) => `${indent}  ${line}`)];
}

/** Returns a name in words: `observedGeneration` becomes `Observed Generation`. */
function words(name: string): string {
  const spaced = name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function eventLines(events: readonly DescribedEvent[], nowMs: number): readonly string[] {
  if (events.length === 0) return ['Events:  <none>'];
  const rows = [
    ['Type', 'Reason', 'Age', 'From', 'Message'],
    ['----', '------', '---', '----', '-------'],
    ...events.map(({ type, reason, message, from, count, lastMs }) => {
      const age = formatAge(nowMs - lastMs);
      return [type, reason, count > 1 ? `${age} (x${count})` : age, from, message].map(printable);
    }),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return [
    'Events:',
    ...rows.map(
      (row) =>
        `  ${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}`,
    ),
  ];
}
