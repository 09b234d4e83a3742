import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { FieldShape, Shape } from '../schema/shape.ts';
import type { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { fieldElement, isEmptySet, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { isGranular, isMergedList, itemsByElement, shapeOf, typeOfField, typeOfItems } from './field-type.ts';
import type { Fields } from './field-type.ts';

type Nodes = Record<string, FieldSet>;

/** The fields of metadata that managers can own. The server sets the other fields, or they name the object. */
const ownedMetadata = ['generateName', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** Returns the part of an object whose fields have owners. */
export function contentOf(object: ApiObject): Fields {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = object;
  const owned: Record<string, unknown> = {};
  for (const field of ownedMetadata) if (metadata[field] !== undefined) owned[field] = metadata[field];
  return { metadata: owned, ...rest };
}

/**
 * Returns the set of all fields in a new value, including the objects and lists that contain other fields. The paths in
 * the set are relative to the value.
 */
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

/**
 * Returns all fields in the content of a new object, except the field `metadata` itself: every object has this field,
 * so no manager owns it. The fields in `metadata` are included.
 */
export function newFieldsOf(content: Fields, type: FieldShape): FieldSet {
  const shape = shapeOf(type);
  let nodes: Nodes | undefined;
  for (const name in content) {
    if (content[name] === undefined) continue;
    const node = allFieldsOf(content[name], typeOfField(shape, name));
    // The metadata of most objects has no owned fields. It is left out here, because `asNewFields` would copy all other
    // nodes to leave it out.
    if (name === 'metadata' && node === leaf) continue;
    nodes ??= {};
    nodes[fieldElement(name)] = node;
  }
  if (nodes === undefined) return leaf;
  return nodes['f:metadata'] === undefined ? nodes : asNewFields(nodes);
}

/**
 * Takes the set of all fields of a new object, and returns it without the entry of the field `metadata` itself. The
 * entries of the fields in `metadata` stay.
 */
export function asNewFields(all: FieldSet): FieldSet {
  const { 'f:metadata': metadata, ...others } = all;
  if (metadata === undefined) return all;
  const { '.': _itself, ...below } = metadata;
  return isEmptySet(below) ? others : { 'f:metadata': below, ...others };
}

/**
 * Returns the fields that an apply makes its manager own: fields with a value, items of merged lists, and entries of
 * maps. Declared fields that only contain other fields are not among them, so that setting a field of `spec` does not
 * make the manager own `spec`.
 */
export function* appliedFieldsOf(object: Fields, type: FieldShape, pace: Pace): Steps<FieldSet> {
  return (yield* appliedIn(object, shapeOf(type), pace)) ?? leaf;
}

function* appliedIn(value: Fields, shape: Shape, pace: Pace): Steps<FieldSet | undefined> {
  let node: Nodes | undefined;
  for (const name in value) {
    if (pace.isStepOver()) yield;
    const field = value[name];
    const isDeclared = shape.below.properties.has(name);
    const applied =
      typeof field === 'object' ? yield* appliedField(field, typeOfField(shape, name), { isDeclared, pace }) : leaf;
    if (applied === undefined) continue;
    node ??= {};
    node[fieldElement(name)] = applied;
  }
  return node;
}

interface AppliedAt {
  readonly isDeclared: boolean;
  readonly pace: Pace;
}

/** Returns the fields in a value that the manager owns after the apply; undefined when there are none. */
function* appliedField(value: unknown, type: FieldShape, at: AppliedAt): Steps<FieldSet | undefined> {
  const shape = shapeOf(type);
  if (isMergedList(value, shape)) return yield* appliedItems(value, shape, at);
  if (!isGranular(value, shape) || isEmptyObject(value)) return leaf;
  const below = yield* appliedIn(value, shape, at.pace);
  if (at.isDeclared) return below;
  return below === undefined ? leaf : { '.': leaf, ...below };
}

function* appliedItems(list: readonly unknown[], shape: Shape, at: AppliedAt): Steps<FieldSet | undefined> {
  const { isDeclared, pace } = at;
  let node: Nodes | undefined;
  for (const [element, item] of itemsByElement(list, shape)) {
    if (pace.isStepOver()) yield;
    node ??= isDeclared ? {} : { '.': leaf };
    const applied = yield* appliedField(item, typeOfItems(shape), { isDeclared: false, pace });
    node[element] = applied ?? leaf;
  }
  return node ?? (isDeclared ? undefined : leaf);
}

function isEmptyObject(value: object): boolean {
  for (const _ in value) return false;
  return true;
}
