import type { CelType } from './cel-type.ts';
import { celTypes, listOf, mapOf, optionalOf } from './cel-type.ts';
import type { CelFunction, Overload } from './cel-function.ts';

const cache = new Map<string, CelType>();

/**
 * Returns an overload from its signature: `size(string) int` for a function, `string::startsWith(string) bool` for a
 * method. A capital letter is a type parameter.
 */
export function overload(signature: string, run: CelFunction): Overload {
  const match = /^(?:(.+)::)?([^\s(]+)\((.*)\) (.+)$/.exec(signature);
  const [, target, name = '', args = '', result = ''] = match ?? [];
  if (match === null) throw new SyntaxError(`"${signature}" is not a signature`);
  const types = splitTypes(args).map(typeOf);
  return {
    name,
    isMethod: target !== undefined,
    args: target === undefined ? types : [typeOf(target), ...types],
    result: typeOf(result),
    run,
  };
}

function typeOf(text: string): CelType {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const type = readType(text);
  cache.set(text, type);
  return type;
}

function readType(text: string): CelType {
  const match = /^([^(]+)(?:\((.*)\))?$/.exec(text);
  const [, name = '', inner] = match ?? [];
  const params = inner === undefined ? [] : splitTypes(inner).map(typeOf);
  const [first = celTypes.dyn, second = celTypes.dyn] = params;
  if (name === 'list') return listOf(first);
  if (name === 'map') return mapOf(first, second);
  if (name === 'optional') return optionalOf(first);
  if (name === 'type') return { kind: 'type', of: first };
  if (/^[A-Z]$/.test(name)) return { kind: 'param', name };
  if (isScalarName(name)) return celTypes[name];
  return { kind: 'opaque', name, params };
}

function isScalarName(name: string): name is keyof typeof celTypes {
  return Object.hasOwn(celTypes, name);
}

/** Splits a list of types at the commas outside of parentheses. */
function splitTypes(text: string): readonly string[] {
  const found: string[] = [];
  let depth = 0;
  let current = '';
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) {
      found.push(current.trim());
      current = '';
    } else current += character;
  }
  if (current.trim() !== '') found.push(current.trim());
  return found;
}
