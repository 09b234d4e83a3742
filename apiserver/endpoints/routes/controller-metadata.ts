// This import defines Symbol.metadata, which Node 20 lacks. The symbol must exist before a decorated class is
// evaluated.
import { metadataSymbol } from '@homeostat/controller-runtime/api';
import type { RouteMethod, RouteOptions } from './router.ts';

/** The options of a mapping decorator. */
export interface MappingOptions extends RouteOptions {
  /** The path, relative to the path of the controller. Default: the path of the controller itself. */
  readonly path?: string;
  /**
   * The media types that the method returns. A client that accepts none of them receives a 406, unless another route
   * matches. Default: any.
   */
  readonly accept?: string | readonly string[];
  /**
   * The media types that the method accepts as body. A client that sends another media type receives a 415, unless
   * another route also matches the path and the method of the request. Default: any.
   */
  readonly contentType?: string | readonly string[];
}

/** One HTTP route that a decorator declares for a method of a controller class. */
export interface MethodMapping {
  readonly method: RouteMethod;
  readonly options: MappingOptions;
}

/** The declarations that the decorators of one class made, without those of its base classes. */
export interface ControllerDeclaration {
  isController: boolean;
  apiVersion?: string;
  mapping?: string;
  /**
   * The HTTP routes that the decorators of each method declare, by the name of the method. The methods are in the order
   * of the source.
   */
  readonly methods: Map<string, MethodMapping[]>;
}

export type AnyClass = abstract new (...args: never[]) => object;

/**
 * True for any function, because classes are functions. For a function that is not a class with decorators of a
 * controller, {@link readDeclaration} returns undefined.
 */
export const isClass = (value: unknown): value is AnyClass => typeof value === 'function';

// The symbol is in the global registry, since a plugin may load a second copy of this package.
const controllerSymbol = Symbol.for('homeostat.restController');

/**
 * Returns the declaration of the class to which a decorator's context belongs. The first call for a class creates an
 * empty one.
 */
export function declarationOf({ metadata }: { readonly metadata?: object }): ControllerDeclaration {
  if (metadata === undefined) {
    throw new TypeError(
      'no decorator metadata: turn experimentalDecorators off, and import this package before the class is defined',
    );
  }
  const own = declarationIn(metadata);
  if (own !== undefined) return own;
  const declaration: ControllerDeclaration = { isController: false, methods: new Map() };
  Reflect.set(metadata, controllerSymbol, declaration);
  return declaration;
}

/**
 * Returns the declaration in the metadata of a class. The metadata of a class inherits from the metadata of its base
 * class, so only own properties are read.
 */
function declarationIn(metadata: object): ControllerDeclaration | undefined {
  const own: unknown = Object.hasOwn(metadata, controllerSymbol) ? Reflect.get(metadata, controllerSymbol) : undefined;
  return isDeclaration(own) ? own : undefined;
}

function isDeclaration(value: unknown): value is ControllerDeclaration {
  return typeof value === 'object' && value !== null && 'isController' in value;
}

/** Returns the declaration of the class itself; undefined when the class has no decorator of a controller. */
export function readDeclaration(cls: AnyClass): ControllerDeclaration | undefined {
  if (!Object.hasOwn(cls, metadataSymbol)) return undefined;
  const metadata: unknown = Reflect.get(cls, metadataSymbol);
  return typeof metadata === 'object' && metadata !== null ? declarationIn(metadata) : undefined;
}

/**
 * Returns the methods of a controller class and its base classes that serve routes, each with its routes. If a subclass
 * declares routes for a method that has routes in a base class, only those of the subclass are returned.
 */
export function readMethods(cls: AnyClass): ReadonlyMap<string, readonly MethodMapping[]> {
  const methods = new Map<string, readonly MethodMapping[]>();
  for (const ancestor of ancestorsOf(cls)) {
    for (const [name, mappings] of readDeclaration(ancestor)?.methods ?? []) methods.set(name, mappings);
  }
  return methods;
}

/** Returns the class and its base classes, the base classes first. */
function ancestorsOf(cls: AnyClass): readonly AnyClass[] {
  const chain: AnyClass[] = [];
  let next: unknown = cls;
  while (isClass(next) && next !== Function.prototype) {
    chain.unshift(next);
    next = Object.getPrototypeOf(next);
  }
  return chain;
}
