// To import it defines it, which Node 20 needs before a decorated class runs.
import { metadataSymbol } from '@homeostat/controller-runtime/api';
import type { RouteMethod, RouteOptions } from './router.ts';

/** What a mapping decorator says about a method. */
export interface MappingOptions extends RouteOptions {
  /** Relative to the controller's; default none. */
  readonly path?: string;
  /** Media types that the method answers; the client must take one of them (406). Default any. */
  readonly accept?: string | readonly string[];
  /** Media types that the method takes (415). Default any. */
  readonly contentType?: string | readonly string[];
}

/** One mapping of one method of a controller. */
export interface MethodMapping {
  readonly method: RouteMethod;
  readonly options: MappingOptions;
}

/** What the decorators of one class said, its base classes not included. */
export interface ControllerDeclaration {
  isController: boolean;
  apiVersion?: string;
  mapping?: string;
  /** By name of the method, in the order of the source. */
  readonly methods: Map<string, MethodMapping[]>;
}

export type AnyClass = abstract new (...args: never[]) => object;

// Of the global registry, since a plugin may bring a second copy of this package.
const controllerSymbol = Symbol.for('homeostat.restController');

type DecoratorMetadata = Record<symbol, ControllerDeclaration | undefined>;

/** The declaration that decorators of this context write to. */
export function declarationOf(context: { readonly metadata?: object }): ControllerDeclaration {
  const metadata = context.metadata as DecoratorMetadata | undefined;
  if (metadata === undefined) {
    throw new TypeError('decorators of controllers need standard decorators, and this package imported first');
  }
  // The metadata of a class inherits from that of its base: look at its own only.
  const own = Object.hasOwn(metadata, controllerSymbol) ? metadata[controllerSymbol] : undefined;
  return own ?? (metadata[controllerSymbol] = { isController: false, methods: new Map() });
}

/** What is declared on the class itself; undefined when it bears no decorator of a controller. */
export function readDeclaration(cls: AnyClass): ControllerDeclaration | undefined {
  if (!Object.hasOwn(cls, metadataSymbol)) return undefined;
  const metadata = Reflect.get(cls, metadataSymbol) as DecoratorMetadata | null;
  return metadata !== null && Object.hasOwn(metadata, controllerSymbol) ? metadata[controllerSymbol] : undefined;
}

/** Mapped methods of the class and its base classes. A method that a class maps again has only the new mappings. */
export function readMethods(cls: AnyClass): ReadonlyMap<string, readonly MethodMapping[]> {
  const methods = new Map<string, readonly MethodMapping[]>();
  for (const ancestor of ancestorsOf(cls)) {
    for (const [name, mappings] of readDeclaration(ancestor)?.methods ?? []) methods.set(name, mappings);
  }
  return methods;
}

/** The base classes first. */
function ancestorsOf(cls: AnyClass): readonly AnyClass[] {
  const chain: AnyClass[] = [];
  let next: unknown = cls;
  while (typeof next === 'function' && next !== Function.prototype) {
    chain.unshift(next as unknown as AnyClass);
    next = Object.getPrototypeOf(next);
  }
  return chain;
}
