import type { AbstractExtension } from './abstract-extension.ts';
import { noteDeclaration } from './declaration-stack.ts';
import type { GvkOptions } from '../model/gvk-options.ts';
import { declarationOf } from './model-metadata.ts';

/** Decorates a class that extends AbstractExtension. */
export type GvkDecorator = (value: new () => AbstractExtension, context: ClassDecoratorContext) => void;

/**
 * Declares group, version, kind and names of a model (section 2.1 of the specification). Registration checks them; each
 * error names the attribute and the rule.
 */
export function GVK(options: GvkOptions): GvkDecorator {
  return (model, context) => {
    if (context?.kind !== 'class')
      throw new TypeError('@GVK is a standard class decorator: turn experimentalDecorators off');
    declarationOf(context).gvk = options;
    noteDeclaration(model);
  };
}
