import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { ArrayList } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { intAt, itemsOf, listAt, textAt } from './arguments.ts';
import { pairedCharacters } from './characters.ts';
import { formatText } from './format-text.ts';

/**
 * The limit of `split` and `replace` when the caller gives none. A negative limit means all parts, or all replacements.
 */
const all = -1n;

/** Returns the functions for texts. Positions count characters, not UTF-16 units. */
export function stringOverloads(): readonly Overload[] {
  return [
    overload('string::contains(string) bool', (args) => textAt(args, 0).includes(textAt(args, 1))),
    overload('string::startsWith(string) bool', (args) => textAt(args, 0).startsWith(textAt(args, 1))),
    overload('string::endsWith(string) bool', (args) => textAt(args, 0).endsWith(textAt(args, 1))),
    overload('string::lowerAscii() string', (args) =>
      textAt(args, 0).replaceAll(/[A-Z]+/g, (found) => found.toLowerCase()),
    ),
    overload('string::upperAscii() string', (args) =>
      textAt(args, 0).replaceAll(/[a-z]+/g, (found) => found.toUpperCase()),
    ),
    overload('string::trim() string', (args) => textAt(args, 0).trim()),
    overload('strings.quote(string) string', (args, meter) => quote(textAt(args, 0), meter)),
    overload('string::format(list(dyn)) string', (args, meter) =>
      formatText(textAt(args, 0), itemsOf(listAt(args, 1)), meter),
    ),
    ...positions(),
    ...pieces(),
  ];
}

function positions(): readonly Overload[] {
  return [
    overload('string::charAt(int) string', (args, meter) => {
      const { length, slice } = reader(textAt(args, 0), meter);
      const at = Number(intAt(args, 1));
      if (at < 0 || at > length) throw new CelError(`index out of range: ${at}`);
      return slice(at, at + 1);
    }),
    overload('string::substring(int) string', (args, meter) => substring(textAt(args, 0), [args[1]], meter)),
    overload('string::substring(int, int) string', (args, meter) => substring(textAt(args, 0), args.slice(1), meter)),
    ...(['indexOf', 'lastIndexOf'] as const).flatMap((name) => [
      overload(`string::${name}(string) int`, (args, meter) => find(name, args, meter)),
      overload(`string::${name}(string, int) int`, (args, meter) => find(name, args, meter)),
    ]),
  ];
}

function pieces(): readonly Overload[] {
  return [
    overload('string::split(string) list(string)', (args, meter) => split(args, all, meter)),
    overload('string::split(string, int) list(string)', (args, meter) => split(args, intAt(args, 2), meter)),
    overload('list(string)::join() string', (args, meter) => join(args, '', meter)),
    overload('list(string)::join(string) string', (args, meter) => join(args, textAt(args, 1), meter)),
    overload('string::replace(string, string) string', (args, meter) => replace(args, all, meter)),
    overload('string::replace(string, string, int) string', (args, meter) => replace(args, intAt(args, 3), meter)),
  ];
}

/**
 * Returns the length of a text in characters, and a function that returns a slice of it, by positions in characters.
 */
function reader(text: string, meter: CostMeter): { length: number; slice: (from: number, to: number) => string } {
  const characters = pairedCharacters(text, meter);
  if (characters === undefined) return { length: text.length, slice: (from, to) => text.slice(from, to) };
  return { length: characters.length, slice: (from, to) => characters.slice(from, to).join('') };
}

function substring(text: string, range: readonly (CelValue | undefined)[], meter: CostMeter): string {
  const { length, slice } = reader(text, meter);
  const [from = 0, to = length] = range.map(Number);
  if (from > to && range.length === 2) throw new CelError(`invalid substring range. start: ${from}, end: ${to}`);
  if (from < 0 || from > length) throw new CelError(`index out of range: ${from}`);
  if (to < 0 || to > length) throw new CelError(`index out of range: ${to}`);
  return slice(from, to);
}

function find(name: 'indexOf' | 'lastIndexOf', args: readonly CelValue[], meter: CostMeter): bigint {
  const [text, part] = [textAt(args, 0), textAt(args, 1)];
  const characters = pairedCharacters(text, meter);
  const length = characters?.length ?? text.length;
  const given = args.length === 3 ? intAt(args, 2) : undefined;
  if (part === '') return given ?? BigInt(name === 'indexOf' ? 0 : length);
  const from = Number(given ?? (name === 'indexOf' ? 0 : Math.max(0, length - 1)));
  if (from < 0) throw new CelError(`index out of range: ${from}`);
  if (from >= length) return -1n;
  const units = characters === undefined ? from : characters.slice(0, from).join('').length;
  const found = text[name](part, units);
  if (characters === undefined || found <= 0) return BigInt(found);
  return BigInt(Array.from(text.slice(0, found)).length);
}

function split(args: readonly CelValue[], limit: bigint, meter: CostMeter): ArrayList {
  const [text, separator] = [textAt(args, 0), textAt(args, 1)];
  if (limit === 0n) return new ArrayList([]);
  // If the separator is empty, every character becomes an item.
  meter.add(text.length / 2 / Math.max(1, separator.length));
  const parts = separator === '' ? Array.from(text) : text.split(separator);
  const most = Number(limit);
  if (limit < 0n || parts.length <= most) return new ArrayList(parts);
  return new ArrayList([...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)]);
}

function join(args: readonly CelValue[], separator: string, meter: CostMeter): string {
  const items = itemsOf(listAt(args, 0));
  const texts = items.map((_, index) => textAt(items, index));
  const length = texts.reduce((sum, text) => sum + text.length + separator.length, 0);
  meter.add(length / 5);
  return texts.join(separator);
}

function replace(args: readonly CelValue[], limit: bigint, meter: CostMeter): string {
  const [text, old, by] = [textAt(args, 0), textAt(args, 1), textAt(args, 2)];
  if (limit === 0n) return text;
  // As in Go: if the text to replace is empty, the replacement is inserted around every character.
  const parts = old === '' ? ['', ...Array.from(text), ''] : text.split(old);
  meter.add(parts.length);
  const count = limit < 0n ? parts.length - 1 : Math.min(Number(limit), parts.length - 1);
  meter.add((count * by.length) / 10);
  return `${parts.slice(0, count + 1).join(by)}${parts
    .slice(count + 1)
    .map((part) => old + part)
    .join('')}`;
}

const escapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

function quote(text: string, meter: CostMeter): string {
  meter.add(text.length / 2);
  // oxlint-disable-next-line no-control-regex
  return `"${text.replaceAll(/[\u0007-\r"\\]/g, (found) => escapes[found] ?? found)}"`;
}
