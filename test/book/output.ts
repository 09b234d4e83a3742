import { isDeepStrictEqual } from 'node:util';

// Values that differ between runs, in texts and in compact JSON, and their replacements.
const changing: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/"resourceVersion": ?"\d+"/g, '"resourceVersion":"<revision>"'],
  [/"(durationMs|attempts)": ?[\d.]+/g, '"$1":0'],
  [/(?<=\s)\d+m?s(?=\s|$)/gm, '<age>'],
];

function settled(text: string): string {
  return changing.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}

/**
 * Returns true when a page shows the printed output. Uids, times, revisions, ages, `durationMs` and `attempts` may
 * differ. In a text, `…` matches any characters within a line; alone on a line, it matches any lines. JSON is compared
 * as a value: `…` matches any value; at the end of a list, it matches any number of items.
 */
export function isShown(expected: string, printed: string, language: string): boolean {
  if (language === 'json') return isJsonShown(expected, printed);
  return textPattern(settled(expected)).test(lines(settled(printed)));
}

function isJsonShown(expected: string, printed: string): boolean {
  const [wanted, found] = [expected, printed].map((text) => parseJson(text));
  return found !== undefined && matches(wanted, found);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(settled(JSON.stringify(JSON.parse(text)))) as unknown;
  } catch {
    return undefined;
  }
}

function matches(wanted: unknown, found: unknown): boolean {
  if (wanted === '…') return true;
  if (Array.isArray(wanted)) return Array.isArray(found) && matchItems(wanted, found);
  if (!isRecord(wanted)) return isDeepStrictEqual(wanted, found);
  if (!isRecord(found)) return false;
  const keys = Object.keys(wanted);
  return (
    keys.length === Object.keys(found).length && keys.every((key) => key in found && matches(wanted[key], found[key]))
  );
}

function matchItems(wanted: readonly unknown[], found: readonly unknown[]): boolean {
  if (wanted.at(-1) === '…') return matchItems(wanted.slice(0, -1), found.slice(0, wanted.length - 1));
  return wanted.length === found.length && wanted.every((item, index) => matches(item, found[index]));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textPattern(expected: string): RegExp {
  const patterns = lines(expected)
    .split('\n')
    .map((line) => (line.trim() === '…' ? '[^]*' : line.split('…').map(escape).join('.*')));
  return new RegExp(`^${patterns.join('\n')}$`);
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** Removes spaces at the ends of lines, and replaces two or more spaces by two: the widths of columns may differ. */
function lines(text: string): string {
  return text.trim().replace(/ +$/gm, '').replace(/ {2,}/g, '  ');
}
