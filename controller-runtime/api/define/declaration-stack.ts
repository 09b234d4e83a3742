import type { Model } from '../model/model.ts';

/**
 * The stacks are kept as texts, not as errors: an error would keep the functions on its stack alive, with everything
 * that their closures can reach.
 */
const declarations = new WeakMap<object, string | undefined>();

/** Stores the stack of the caller as the stack of the model's declaration, and returns the model. */
export function noteDeclaration<T extends object>(model: T): T {
  declarations.set(model, new Error('declared').stack);
  return model;
}

/**
 * The stack of the call that declared a model, for messages that name the file and line of the declaration. Undefined
 * if the model was not declared by `defineModel` or `@GVK` of this copy of the package.
 */
export function declarationStackOf(model: Model): string | undefined {
  return declarations.get(model);
}
