import type { CelType } from './cel-type.ts';

/**
 * The types of type parameters, by the names of the parameters. The map is immutable, so that a failed attempt with one
 * overload does not affect the next.
 */
export type Bindings = ReadonlyMap<string, CelType>;

export const noBindings: Bindings = new Map();

/** The kinds of types whose values may be null. */
const nullable: ReadonlySet<CelType['kind']> = new Set(['duration', 'null', 'object', 'opaque', 'timestamp']);

/**
 * Returns `bindings`, to which it adds the types of type parameters that make a value of type `from` valid where `to`
 * is expected; undefined when no types do.
 */
export function assign(from: CelType, to: CelType, bindings: Bindings): Bindings | undefined {
  const source = resolve(from, bindings);
  const target = resolve(to, bindings);
  if (target.kind === 'param') return bind(target.name, source, bindings);
  if (source.kind === 'param') return bind(source.name, target, bindings);
  if (isOpen(source) || isOpen(target)) return bindings;
  if (source.kind === 'null') return nullable.has(target.kind) ? bindings : undefined;
  if (target.kind === 'null') return nullable.has(source.kind) ? bindings : undefined;
  return assignParts(source, target, bindings);
}

/**
 * Returns `bindings`, to which it adds the types of type parameters that make a value of each type in `from` valid
 * where the type at the same position of `to` is expected; undefined when no types do.
 */
export function assignAll(from: readonly CelType[], to: readonly CelType[], bindings: Bindings): Bindings | undefined {
  let found: Bindings | undefined = bindings;
  for (const [index, type] of from.entries()) {
    const target = to[index];
    if (found === undefined || target === undefined) return undefined;
    found = assign(type, target, found);
  }
  return found;
}

function assignParts(source: CelType, target: CelType, bindings: Bindings): Bindings | undefined {
  if (source.kind === 'list' && target.kind === 'list') return assign(source.item, target.item, bindings);
  if (source.kind === 'map' && target.kind === 'map') {
    const keys = assign(source.key, target.key, bindings);
    return keys === undefined ? undefined : assign(source.value, target.value, keys);
  }
  if (source.kind === 'object' && target.kind === 'object') return source.name === target.name ? bindings : undefined;
  if (source.kind === 'opaque' && target.kind === 'opaque')
    return source.name === target.name ? assignAll(source.params, target.params, bindings) : undefined;
  return source.kind === target.kind ? bindings : undefined;
}

function bind(name: string, type: CelType, bindings: Bindings): Bindings | undefined {
  if (type.kind === 'param' && type.name === name) return bindings;
  if (mentions(type, name, bindings)) return undefined;
  return new Map(bindings).set(name, type);
}

function mentions(type: CelType, name: string, bindings: Bindings): boolean {
  const resolved = resolve(type, bindings);
  return (
    (resolved.kind === 'param' && resolved.name === name) ||
    partsOf(resolved).some((part) => mentions(part, name, bindings))
  );
}

function partsOf(type: CelType): readonly CelType[] {
  if (type.kind === 'list') return [type.item];
  if (type.kind === 'map') return [type.key, type.value];
  return type.kind === 'opaque' ? type.params : [];
}

function resolve(type: CelType, bindings: Bindings): CelType {
  let found = type;
  while (found.kind === 'param') {
    const bound = bindings.get(found.name);
    if (bound === undefined) return found;
    found = bound;
  }
  return found;
}

function isOpen({ kind }: CelType): boolean {
  return kind === 'dyn' || kind === 'error';
}

/** Replaces the parameters of a type by their types. With `isFinal`, parameters without a type become `dyn`. */
export function substitute(type: CelType, bindings: Bindings, isFinal = false): CelType {
  const found = resolve(type, bindings);
  const inner = (part: CelType): CelType => substitute(part, bindings, isFinal);
  switch (found.kind) {
    case 'param':
      return isFinal ? { kind: 'dyn' } : found;
    case 'list':
      return { ...found, item: inner(found.item) };
    case 'map':
      return { ...found, key: inner(found.key), value: inner(found.value) };
    case 'opaque':
      return found.params.length === 0 ? found : { ...found, params: found.params.map(inner) };
    case 'type':
      return { ...found, of: inner(found.of) };
    default:
      return found;
  }
}

/**
 * Returns the more general of two types. One of them must be valid where the other is expected. The parts of maps and
 * optionals are not compared: of two such types, the first is returned.
 */
export function moreGeneral(first: CelType, second: CelType): CelType {
  if (isOpen(first) || first.kind === 'param') return first;
  if (isOpen(second)) return second;
  if (first.kind === 'null') return second;
  if (first.kind === 'list' && second.kind === 'list')
    return { kind: 'list', item: moreGeneral(first.item, second.item) };
  return first;
}

/** True when two types are the same in every part. The types of types, such as `type(int)`, all count as the same. */
export function isSameType(first: CelType, second: CelType): boolean {
  if (first.kind !== second.kind) return false;
  if ((first.kind === 'object' || first.kind === 'opaque' || first.kind === 'param') && 'name' in second) {
    if (first.name !== second.name) return false;
  }
  const parts = partsOf(first);
  const others = partsOf(second);
  return parts.length === others.length && parts.every((part, index) => isSameType(part, others[index] ?? part));
}
