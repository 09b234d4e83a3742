import type { Model } from '../model/model.ts';

/**
 * Keeps texts, not errors: an error holds the functions on its stack, with everything that their closures can reach.
 */
const declarations = new WeakMap<object, string | undefined>();

/** Keeps the calls that lead to a model's declaration. */
export function noteDeclaration<T extends object>(model: T): T {
  declarations.set(model, new Error('declared').stack);
  return model;
}

/**
 * The stack of the call that declared a model, for messages that name its file and line. Undefined for a model of another
 * copy of this package.
 */
export function declarationStackOf(model: Model): string | undefined {
  return declarations.get(model);
}
