import type { FieldShape, Shape } from '../schema/shape.ts';
import { leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { isGranular, isMergedList, itemsByElement, shapeOf, typeOfField, typeOfItems } from './field-type.ts';
import type { Fields } from './field-type.ts';
import { fieldElement } from './path-element.ts';

type Nodes = Record<string, FieldSet>;

/** Returns the node of a new value: every field of it, including the objects and lists that hold others. */
export function allFieldsOf(value: unknown, type: FieldShape): FieldSet {
  if (typeof value !== 'object' || value === null) return leaf;
  const shape = shapeOf(type);
  let node: Nodes | undefined;
  if (isGranular(value, shape)) {
    for (const name in value) {
      node ??= { '.': leaf };
      node[fieldElement(name)] = allFieldsOf(value[name], typeOfField(shape, name));
    }
  } else if (isMergedList(value, shape)) {
    for (const [element, item] of itemsByElement(value, shape)) {
      node ??= { '.': leaf };
      node[element] = allFieldsOf(item, typeOfItems(shape));
    }
  }
  return node ?? leaf;
}

/** Returns every field of a new object, by its content. Every object has `metadata`, so that field itself has no owner. */
export function newFieldsOf(content: Fields, type: FieldShape): FieldSet {
  const shape = shapeOf(type);
  let nodes: Nodes | undefined;
  for (const name in content) {
    if (content[name] === undefined) continue;
    const all = allFieldsOf(content[name], typeOfField(shape, name));
    if (name === 'metadata' && all === leaf) continue;
    nodes ??= {};
    nodes[fieldElement(name)] = name === 'metadata' ? withoutItself(all) : all;
  }
  return nodes ?? leaf;
}

function withoutItself({ '.': _itself, ...below }: FieldSet): FieldSet {
  return below;
}

/**
 * Returns the fields that an apply claims: fields with a value, items of merged lists, and entries of maps. Declared fields
 * that only hold others are not claimed, so that setting a field of `spec` does not make the manager own `spec`.
 */
export function appliedFieldsOf(object: Fields, type: FieldShape): FieldSet {
  return appliedIn(object, shapeOf(type)) ?? leaf;
}

function appliedIn(value: Fields, shape: Shape): FieldSet | undefined {
  let node: Nodes | undefined;
  for (const name in value) {
    const applied = appliedField(value[name], typeOfField(shape, name), shape.properties.has(name));
    if (applied === undefined) continue;
    node ??= {};
    node[fieldElement(name)] = applied;
  }
  return node;
}

/** Returns undefined when nothing is claimed. */
function appliedField(value: unknown, type: FieldShape, isDeclared: boolean): FieldSet | undefined {
  const shape = shapeOf(type);
  if (isMergedList(value, shape)) {
    let node: Nodes | undefined;
    for (const [element, item] of itemsByElement(value, shape)) {
      node ??= isDeclared ? {} : { '.': leaf };
      node[element] = appliedField(item, typeOfItems(shape), false) ?? leaf;
    }
    return node ?? (isDeclared ? undefined : leaf);
  }
  if (!isGranular(value, shape) || isEmptyObject(value)) return leaf;
  const below = appliedIn(value, shape);
  if (isDeclared) return below;
  return below === undefined ? leaf : { '.': leaf, ...below };
}

function isEmptyObject(value: object): boolean {
  for (const _ in value) return false;
  return true;
}
