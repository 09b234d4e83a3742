import { envelopeFields, envelopeProperties } from '../schema/envelope.ts';
import { isExtensionClass } from './abstract-extension.ts';
import { quoteValue } from '../errors/field-cause.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { ModelError } from '../errors/model-error.ts';
import { readDeclaration, readFields } from './model-metadata.ts';
import { SchemaNormaliser } from '../schema/normalise-schema.ts';
import { referenceTo } from '../schema/schema-reference.ts';
import type { AnyClass, ClassReference, SchemaAttributes } from './schema-attributes.ts';

/** The named schemas of a class, and of all classes to which it refers directly or indirectly. */
export class ClassComponents {
  readonly #model: string;
  readonly #normaliser: SchemaNormaliser;
  readonly #classes = new Map<string, AnyClass>();
  readonly #components: Record<string, JsonSchema> = {};

  /** @throws ModelError for a declaration that breaks a rule; the error names the class and the field */
  constructor(root: AnyClass) {
    this.#model = root.name;
    this.#normaliser = new SchemaNormaliser(root.name, schemaNameOf(root));
    this.#add(root, root.name);
  }

  /** The schemas by their names. */
  get components(): Readonly<Record<string, JsonSchema>> {
    return this.#components;
  }

  /**
   * Adds the schema of a class, unless it was added before, and returns the schema's name. The name is stored before
   * the fields are read, so that a class may refer to itself.
   */
  #add(cls: AnyClass, where: string): string {
    const name = schemaNameOf(cls);
    const known = this.#classes.get(name);
    if (known === cls) return name;
    if (known !== undefined) {
      throw this.#error(
        where,
        `the classes ${known.name} and ${cls.name} both have the schema name "${name}"; rename one of them with @Schema({ name })`,
      );
    }
    if (!/^[A-Za-z][A-Za-z0-9._-]*$/.test(name)) {
      throw this.#error(
        where,
        `the schema name "${name}" must start with a letter; letters, digits, ".", "_" and "-" may follow`,
      );
    }
    this.#classes.set(name, cls);
    this.#components[name] = this.#schemaOf(cls, where);
    return name;
  }

  #schemaOf(cls: AnyClass, where: string): JsonSchema {
    const fields = readFields(cls);
    const declaration = readDeclaration(cls);
    const isModel = isExtensionClass(cls);
    if (fields.size === 0 && declaration === undefined)
      throw this.#error(where, `the class ${cls.name} has no decorator @Schema`);
    for (const field of isModel ? envelopeFields : []) {
      if (fields.has(field))
        throw this.#error(`${cls.name}.${field}`, 'is a field of every object and may not be declared');
    }
    const properties = [...fields].map(([field, attributes]) => [field, this.#field(cls, field, attributes)] as const);
    const required = [...fields]
      .filter(([, attributes]) => attributes.requireMode === 'REQUIRED')
      .map(([field]) => field);
    const schema = {
      ...this.#resolve({ type: 'object', ...declaration?.schema }, cls.name),
      properties: {
        ...(isModel ? envelopeProperties : {}),
        ...Object.fromEntries(properties),
      },
      required,
    };
    return this.#normaliser.normalise(schema, cls.name);
  }

  #field(cls: AnyClass, field: string, attributes: SchemaAttributes): object {
    const where = `${cls.name}.${field}`;
    // If `name` were not the field's name, the schema would describe a field that the class does not have.
    if (attributes.name !== undefined && attributes.name !== field) {
      throw this.#error(
        where,
        'the attribute "name" names the schema of a class; on a field, it must be the name of the field',
      );
    }
    return this.#resolve(attributes, where);
  }

  /** Returns attributes as plain JSON Schema, with references in place of classes. */
  #resolve(attributes: SchemaAttributes, where: string): object {
    const { requireMode } = attributes;
    if (requireMode !== undefined && requireMode !== 'REQUIRED' && requireMode !== 'NOT_REQUIRED')
      throw this.#error(where, `requireMode ${quoteValue(requireMode)} must be REQUIRED or NOT_REQUIRED`);
    const {
      name: _name,
      requireMode: _mode,
      rules,
      type,
      items,
      properties,
      additionalProperties,
      ...rest
    } = attributes;
    return {
      ...(rules === undefined ? {} : { 'x-kubernetes-validations': rules }),
      ...(typeof type === 'function' ? { $ref: this.#reference(type, where) } : { type }),
      ...rest,
      ...(items === undefined ? {} : { items: this.#part(items, `${where}.items`) }),
      ...(properties === undefined ? {} : this.#inline(properties, where)),
      ...(additionalProperties === undefined
        ? {}
        : { additionalProperties: this.#part(additionalProperties, `${where}.additionalProperties`) }),
    };
  }

  #part(part: SchemaAttributes | ClassReference | boolean, where: string): object | boolean {
    if (typeof part === 'boolean') return part;
    return typeof part === 'function' ? { $ref: this.#reference(part, where) } : this.#resolve(part, where);
  }

  #inline(properties: Readonly<Record<string, SchemaAttributes>>, where: string): object {
    const entries = Object.entries(properties);
    const required = entries.filter(([, attributes]) => attributes.requireMode === 'REQUIRED').map(([field]) => field);
    return {
      properties: Object.fromEntries(
        entries.map(([field, attributes]) => [field, this.#resolve(attributes, `${where}.${field}`)]),
      ),
      required,
    };
  }

  #reference(reference: ClassReference, where: string): string {
    return referenceTo(this.#add(this.#classOf(reference, where), where));
  }

  #classOf(reference: ClassReference, where: string): AnyClass {
    // A class has to be given as a function that returns it, so that the class may be declared further down in the
    // file.
    if (isClass(reference)) throw this.#error(where, `write the class as a function: () => ${reference.name}`);
    const cls: unknown = reference();
    if (!isClass(cls)) throw this.#error(where, 'the function given as type must return a class');
    return cls;
  }

  #error(where: string, rule: string): ModelError {
    return new ModelError(this.#model, where, rule);
  }
}

/**
 * The name of a class's schema: the name in `@Schema({ name })`, or else the kind of a model, or else the name of the
 * class.
 */
export function schemaNameOf(cls: AnyClass): string {
  const declaration = readDeclaration(cls);
  return declaration?.schema?.name ?? declaration?.gvk?.kind ?? cls.name;
}

// Arrow functions and methods have no prototype, so they are not mistaken for classes.
function isClass(value: unknown): value is AnyClass {
  return typeof value === 'function' && typeof value.prototype === 'object';
}
