import type { GvkOptions } from '../model/gvk-options.ts';
import type { AnyClass, SchemaAttributes } from './schema-attributes.ts';

// Node 20 has no Symbol.metadata. Decorators store their data under this symbol only if the symbol exists before the
// first decorated class is evaluated. So the import of this module defines the symbol, unless the platform has one. The
// new symbol comes from the global symbol registry, so that two copies of this package use the same symbol.
/** `Symbol.metadata`, under which the platform keeps the data of a class's decorators. */
export const metadataSymbol: symbol = defineMetadataSymbol();
const modelSymbol = Symbol.for('homeostat.model');

function defineMetadataSymbol(): symbol {
  const existing: unknown = Reflect.get(Symbol, 'metadata');
  if (typeof existing === 'symbol') return existing;
  const symbol = Symbol.for('Symbol.metadata');
  Object.defineProperty(Symbol, 'metadata', { value: symbol, configurable: false, enumerable: false, writable: false });
  return symbol;
}

/** The declarations of the decorators of one class, without those of its base classes. */
export interface ClassDeclaration {
  gvk?: GvkOptions;
  schema?: SchemaAttributes;
  /** The fields by name, in the order of the source. */
  readonly fields: Map<string, SchemaAttributes>;
}

/** Returns the declaration that the decorators of a class fill in; creates it for the first decorator. */
export function declarationOf({ metadata }: { readonly metadata?: object }): ClassDeclaration {
  if (metadata === undefined) {
    throw new TypeError(
      'no decorator metadata: turn experimentalDecorators off, and import this package before the class is defined',
    );
  }
  const own = declarationIn(metadata);
  if (own !== undefined) return own;
  const declaration: ClassDeclaration = { fields: new Map() };
  Reflect.set(metadata, modelSymbol, declaration);
  return declaration;
}

/**
 * Reads only the metadata's own properties, because the metadata of a class inherits from the metadata of its base
 * class.
 */
function declarationIn(metadata: object): ClassDeclaration | undefined {
  const own: unknown = Object.hasOwn(metadata, modelSymbol) ? Reflect.get(metadata, modelSymbol) : undefined;
  return isDeclaration(own) ? own : undefined;
}

function isDeclaration(value: unknown): value is ClassDeclaration {
  return typeof value === 'object' && value !== null && 'fields' in value;
}

/** The declarations on the class itself; undefined when it has no decorator of this package. */
export function readDeclaration(cls: AnyClass): ClassDeclaration | undefined {
  if (!Object.hasOwn(cls, metadataSymbol)) return undefined;
  const metadata: unknown = Reflect.get(cls, metadataSymbol);
  return typeof metadata === 'object' && metadata !== null ? declarationIn(metadata) : undefined;
}

/**
 * Returns the fields of the base classes, and then the fields of the class itself. A field that a subclass declares
 * again has the attributes of the subclass.
 */
export function readFields(cls: AnyClass): ReadonlyMap<string, SchemaAttributes> {
  const fields = new Map<string, SchemaAttributes>();
  for (const ancestor of ancestorsOf(cls).toReversed()) {
    for (const [name, attributes] of readDeclaration(ancestor)?.fields ?? []) fields.set(name, attributes);
  }
  return fields;
}

function ancestorsOf(cls: AnyClass): AnyClass[] {
  const chain: AnyClass[] = [];
  for (let next: unknown = cls; isClass(next) && next !== Function.prototype; next = Object.getPrototypeOf(next))
    chain.push(next);
  return chain;
}

/**
 * True for any function, not only for a class. That is enough: the caller then looks for what decorators declared, and
 * finds nothing for a function that is not a class.
 */
function isClass(value: unknown): value is AnyClass {
  return typeof value === 'function';
}
