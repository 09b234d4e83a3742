import { metadataFieldNames, ownerReferenceFieldNames, isJsonObject } from '@homeostat/controller-runtime/api';
import { formatPath } from './judge/field-path.ts';
import type { PathSegment } from './judge/field-path.ts';
import type { Shape } from './shape.ts';

type Fields = Record<string, unknown>;

/**
 * The maximum number of reported paths. Each becomes a header or a part of a message. The fields beyond this number are
 * removed as well.
 */
const maxReported = 100;

const nothing: readonly string[] = Object.freeze([]);

const unknownShape: Shape = {
  below: { properties: new Map(), additional: undefined, items: undefined, defaults: [] },
  identity: undefined,
  isAtomic: false,
  preservesUnknown: false,
  isNullable: false,
  defaultValue: undefined,
  defaultLength: 0,
};

/**
 * Removes the fields that a schema does not declare. An instance handles one object at a time. It allocates nothing
 * when all fields are declared.
 */
export class Pruner {
  readonly #root: Shape;
  readonly #keepsMetadata: boolean;
  readonly #path: PathSegment[] = [];
  #found: string[] | undefined;

  /** With `keepsMetadata`, the unknown fields in the metadata of the object and of embedded resources stay. */
  constructor(root: Shape, { keepsMetadata = false }: { readonly keepsMetadata?: boolean } = {}) {
    this.#root = root;
    this.#keepsMetadata = keepsMetadata;
  }

  /** Prunes an object in place. Returns the paths of the first 100 removed fields, in the order of the object. */
  readonly prune = (object: object): readonly string[] => {
    this.#found = undefined;
    this.#path.length = 0;
    if (isJsonObject(object)) this.#pruneFields(object, this.#root, this.#root.preservesUnknown);
    return this.#found ?? nothing;
  };

  /**
   * Prunes the fields of an object. `keepsUnknown` is true when the schema of the object, or of the list that contains
   * it, preserves unknown fields.
   */
  #pruneFields(fields: Fields, { below: { properties, additional } }: Shape, keepsUnknown: boolean): void {
    for (const name in fields) {
      const child = properties.get(name) ?? additional;
      if (child === undefined) {
        if (!keepsUnknown) this.#remove(fields, name);
      } else if (child === 'metadata') {
        const value = fields[name];
        if (!this.#keepsMetadata && isJsonObject(value)) this.#pruneMetadata(value, name);
      } else if (child !== 'anything') {
        const value = fields[name];
        if (typeof value === 'object' && value !== null) this.#pruneValue(value, child, name);
      }
    }
  }

  #pruneValue(value: object, shape: Shape, segment: PathSegment, isKept = false): void {
    const keepsUnknown = isKept || shape.preservesUnknown;
    this.#path.push(segment);
    if (Array.isArray(value)) this.#pruneItems(value, shape, keepsUnknown);
    else if (isJsonObject(value)) this.#pruneFields(value, shape, keepsUnknown);
    this.#path.pop();
  }

  /**
   * Prunes the items of a list. If the list preserves unknown fields, the unknown fields of its items stay, but the
   * unknown fields of deeper objects are removed, as with `skipPrune` in Kubernetes.
   */
  #pruneItems(items: readonly unknown[], shape: Shape, keepsUnknown: boolean): void {
    // If the schema does not declare the items of a list, all fields of the items are unknown.
    const itemShape = shape.below.items ?? (keepsUnknown ? undefined : unknownShape);
    if (itemShape === undefined) return;
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      if (typeof item === 'object' && item !== null) this.#pruneValue(item, itemShape, index, keepsUnknown);
    }
  }

  #pruneMetadata(metadata: Fields, segment: PathSegment): void {
    this.#path.push(segment);
    this.#keepOnly(metadata, metadataFieldNames);
    const { ownerReferences } = metadata;
    if (Array.isArray(ownerReferences)) this.#pruneOwners(ownerReferences);
    this.#path.pop();
  }

  #pruneOwners(owners: readonly unknown[]): void {
    for (const [index, owner] of owners.entries()) {
      if (!isJsonObject(owner)) continue;
      this.#path.push('ownerReferences', index);
      this.#keepOnly(owner, ownerReferenceFieldNames);
      this.#path.length -= 2;
    }
  }

  #keepOnly(fields: Fields, known: ReadonlySet<string>): void {
    for (const name in fields) if (!known.has(name)) this.#remove(fields, name);
  }

  #remove(fields: Fields, name: string): void {
    delete fields[name];
    this.#found ??= [];
    if (this.#found.length < maxReported) this.#found.push(formatPath([...this.#path, name]));
  }
}

/** Returns the text about an unknown field: for the Warning, and for the error with `fieldValidation=Strict`. */
export function unknownFieldMessage(path: string): string {
  return `unknown field "${path}"`;
}
