import { apiVersionOf } from '../model/model.ts';
import { readDeclaration } from './model-metadata.ts';
import type { ApiObject, ObjectMeta } from '../object/object.ts';

// A plugin may bring a second copy of this package. For a class of the other copy, instanceof is false, but both copies
// get the same symbol from the global symbol registry.
const extensionSymbol: symbol = Symbol.for('homeostat.extension');

/**
 * The base class of models (specification, section 2.2). It declares apiVersion, kind and metadata; authors add `spec`
 * and `status`. A new instance has the apiVersion and the kind that its `@GVK` declares.
 */
export abstract class AbstractExtension implements ApiObject {
  apiVersion: string;
  kind: string;
  metadata!: ObjectMeta;

  constructor() {
    const gvk = readDeclaration(new.target)?.gvk;
    this.apiVersion = gvk === undefined ? '' : apiVersionOf(gvk);
    this.kind = gvk?.kind ?? '';
  }
}

Object.defineProperty(AbstractExtension, extensionSymbol, { value: true });

/**
 * True for classes that extend AbstractExtension, also when they extend the AbstractExtension of another copy of this
 * package.
 */
export function isExtensionClass(value: unknown): value is new () => AbstractExtension {
  return typeof value === 'function' && Reflect.get(value, extensionSymbol) === true;
}
