import { isArray, isObject, shownAs } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import type { Completion } from '../../base/mistake.ts';
import type { KindSchema } from '../../state/schemas.ts';

/** A line with the name of a field, in YAML or JSON: its indentation with dashes, its name and the rest. */
const fieldLine = /^(\s*(?:-\s+)*)"?([\w./-]+)"?\s*:(?:\s+|$)(.*)$/;
const beginOfName = /^(\s*(?:-\s+)*)("?)([\w-]*)$/;
const beginOfItem = /^(\s*(?:-\s+)+)("?)([\w-]*)$/;

/** Returns the names or values that the schema allows at the end of the text before the cursor. */
export function completionAfter(before: string, schema: KindSchema): Completion | undefined {
  const lines = before.split('\n');
  const last = lines.pop() ?? '';
  const isJson = before.trimStart().startsWith('{');
  const [, indent = '', name = '', value = ''] = fieldLine.exec(last) ?? [];
  if (name !== '') {
    const [, quote = '', word = ''] = /^("?)([\w-]*)$/.exec(value) ?? [];
    if (word !== value.replace(/^"/, '')) return undefined;
    return ofValues(fieldAt(schema, [...parents(lines, indent.length), name]), { word, quote, isJson });
  }
  const [, start, quote = '', word = ''] = beginOfName.exec(last) ?? [];
  if (start === undefined) return undefined;
  const parent = elementOf(fieldAt(schema, parents(lines, start.length)), schema);
  const values = beginOfItem.test(last) ? ofValues(parent, { word, quote, isJson }) : undefined;
  const names = Object.keys(isObject(parent.properties) ? parent.properties : {});
  const options = names.map((each) => ({
    label: each,
    apply: isJson ? `${quote === '' ? '"' : ''}${each}": ` : `${each}: `,
  }));
  return { word, options: [...(values?.options ?? []), ...options] };
}

interface Typed {
  readonly word: string;
  readonly quote: string;
  readonly isJson: boolean;
}

function ofValues(schema: JsonObject, { word, quote, isJson }: Typed): Completion {
  const values = isArray(schema.enum) ? schema.enum : schema.type === 'boolean' ? [true, false] : [];
  const textOf = (value: Json): string => {
    if (quote !== '') return `${shownAs(value)}"`;
    return isJson || isAmbiguous(value) ? JSON.stringify(value) : shownAs(value);
  };
  return { word, options: values.map((value) => ({ label: shownAs(value), apply: textOf(value) })) };
}

/** True for a text that YAML could read as something else. */
const isAmbiguous = (value: Json): boolean =>
  typeof value === 'string' && (value === '' || /^(?:true|false|yes|no|on|off|null|~|[\d.+-].*)$/i.test(value));

/** Returns the names of the fields that enclose a line with this indentation. */
function parents(lines: readonly string[], indent: number): readonly string[] {
  const names: string[] = [];
  let least = indent;
  for (const line of lines.toReversed()) {
    const [, start = '', name = ''] = fieldLine.exec(line) ?? [];
    if (name === '' || start.length >= least) continue;
    names.unshift(name);
    least = start.length;
  }
  return names;
}

/** Returns the schema of a field by the names that lead to it; the name of a list leads to its items. */
function fieldAt(schema: KindSchema, names: readonly string[]): JsonObject {
  let found = schema.root;
  for (const name of names) {
    const { properties, additionalProperties } = elementOf(found, schema);
    const own = isObject(properties) ? properties[name] : undefined;
    found = schema.resolve(own ?? additionalProperties);
  }
  return elementOf(found, schema);
}

function elementOf(found: JsonObject, { resolve }: KindSchema): JsonObject {
  return isObject(found.items) ? elementOf(resolve(found.items), { root: found, resolve }) : found;
}

/**
 * Returns the line of a field in a text, from 1; if the text lacks the field, the line of the nearest field around it.
 */
export function lineOfField(text: string, path: Path): number {
  const lines = text.split('\n').map((line) => {
    const [, start = '', name = ''] = fieldLine.exec(line) ?? [];
    const dashes = /^(\s*)-(?:\s|$)/.exec(line);
    return { indent: start.length, name, dash: dashes?.[1]?.length, isBlank: line.trim() === '' };
  });
  let at = -1;
  let outer = -1;
  let isAtItem = false;
  for (const step of path) {
    const from = isAtItem ? at : at + 1;
    const found =
      typeof step === 'number'
        ? itemAfter(lines, { from, outer, index: step })
        : lines.findIndex(
            (line, index) => index >= from && line.name === step && isChild(lines, { from, index, outer }),
          );
    if (found < 0) break;
    isAtItem = typeof step === 'number';
    at = found;
    const line = lines[found];
    outer = (isAtItem ? line?.dash : line?.indent) ?? outer;
  }
  return Math.max(0, at) + 1;
}

interface Line {
  /** The number of characters before the field's name on this line: spaces, and the dashes of list items. */
  readonly indent: number;
  readonly name: string;
  /** The number of spaces before the dash that begins a list item; undefined when the line begins no item. */
  readonly dash: number | undefined;
  readonly isBlank: boolean;
}

/**
 * True if line `index` names a field directly inside the enclosing field. The content of the enclosing field begins at
 * line `from`; `outer` is the indentation of the enclosing field, and -1 at the top level.
 */
function isChild(
  lines: readonly Line[],
  { from, index, outer }: { readonly from: number; readonly index: number; readonly outer: number },
): boolean {
  const between = lines.slice(from, index + 1).filter(({ name }) => name !== '');
  const inner = between[0]?.indent ?? 0;
  return inner > outer && lines[index]?.indent === inner && between.every(({ indent }) => indent >= inner);
}

/** Returns the line of an item of a list. The dash of the item may be as far left as the name of the list. */
function itemAfter(
  lines: readonly Line[],
  { from, outer, index }: { readonly from: number; readonly outer: number; readonly index: number },
): number {
  const level = lines.slice(from).find(({ isBlank }) => !isBlank)?.dash;
  if (level === undefined || level < outer) return -1;
  let left = index;
  for (const [offset, { dash, indent, name }] of lines.slice(from).entries()) {
    if (dash === level && left === 0) return from + offset;
    if (dash === level) left -= 1;
    else if (name !== '' && indent <= outer) break;
  }
  return -1;
}
