import { declarationOf } from './model-metadata.ts';
import type { SchemaAttributes } from './schema-attributes.ts';

/** Decorates a class or one of its fields. */
export type SchemaDecorator = (value: unknown, context: ClassDecoratorContext | ClassFieldDecoratorContext) => void;

/**
 * Declares which values a field may have, or the schema of a class (specification, section 2.6). The server checks each
 * object against the schema before it stores the object. The attributes themselves are checked at the first use of the
 * model, at the latest at its registration; errors name the class and the field.
 * @throws TypeError on anything but a class or a public instance field.
 */
export function Schema(attributes: SchemaAttributes = {}): SchemaDecorator {
  return (_value, context) => {
    if (typeof context !== 'object')
      throw new TypeError('@Schema is a standard decorator: turn experimentalDecorators off');
    if (context.kind === 'class') declarationOf(context).schema = attributes;
    else declarationOf(context).fields.set(fieldName(context), attributes);
  };
}

function fieldName(context: ClassFieldDecoratorContext): string {
  const { kind, name, private: isPrivate, static: isStatic } = context;
  if (kind !== 'field' || isPrivate || isStatic || typeof name !== 'string') {
    throw new TypeError(
      `@Schema decorates public instance fields, not the ${isStatic ? 'static ' : ''}${kind} ${String(name)}`,
    );
  }
  return name;
}
