import { checkDescriptor, defineModel, ModelError } from '@homeostat/controller-runtime/api';
import type { FieldCause, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { compileSchema } from './compile-schema.ts';

/**
 * The maximum number of fields and items of a value; the settings of a plugin have the same limit. A value is judged
 * without a pause, which takes 10 ms for a value of this size.
 */
const maxNodes = 25_000;

/** The result of {@link ValueSchema.judge}. */
export interface JudgedValue {
  /**
   * A copy of the value, with defaults and without unknown fields. For a value with more than 25,000 fields and items:
   * the value itself, unchanged.
   */
  readonly value: unknown;
  /** The paths of the unknown fields, at most 100. */
  readonly unknownFields: readonly string[];
  /**
   * The violations in {@link JudgedValue.value}, at most 100. For a value with more than 25,000 fields and items, the
   * only violation is the number of them.
   */
  readonly causes: readonly FieldCause[];
}

/**
 * A schema of values that are not objects of a kind. All paths begin with the `name` that was given to
 * {@link compileValueSchema}.
 */
export interface ValueSchema {
  /**
   * Fills in defaults, prunes and validates a copy of the value, like a write of an object. The value must be JSON, and
   * may be frozen. A value of more than 25,000 fields and items is only reported as too large.
   */
  judge(value: unknown): JudgedValue;
  /**
   * Returns the violations of a value, at most 100, and does not change it. Parts that the schema does not describe
   * need not be JSON.
   */
  validate(value: unknown): readonly FieldCause[];
}

/**
 * Compiles a JSON Schema, in the dialect of models. `name` is the name of the values in messages. @throws Error that
 * names the wrong field of the schema, and the rule that it breaks.
 */
export function compileValueSchema(name: string, schema: object): ValueSchema {
  const compiled = compileSchema(wrapped(name, schema));
  return Object.freeze<ValueSchema>({
    judge(value) {
      if (isLargerThan(value, maxNodes)) return { value, unknownFields: [], causes: [tooLarge(name)] };
      const holder: Record<string, unknown> = { [name]: structuredClone(value) };
      compiled.applyDefaults(holder);
      const unknownFields = compiled.prune(holder);
      return { value: holder[name], unknownFields, causes: compiled.validate(holder) };
    },
    validate: (value) => compiled.validate({ [name]: value }),
  });
}

function tooLarge(field: string): FieldCause {
  const message = `Too many: must have at most ${maxNodes} fields and items, including those of nested objects and lists`;
  return { reason: 'FieldValueTooMany', field, message };
}

function isLargerThan(value: unknown, max: number): boolean {
  let nodes = 0;
  const count = (each: unknown): void => {
    nodes += 1;
    if (typeof each !== 'object' || each === null) return;
    for (const child of Object.values(each)) {
      if (nodes > max) return;
      count(child);
    }
  };
  count(value);
  return nodes > max;
}

/** Returns a model with a field of this schema, because the checks of schemas need a model. */
function wrapped(name: string, schema: object): ModelDescriptor {
  const kind = 'Value';
  try {
    const holder = { type: 'object', required: [name], properties: { [name]: schema } };
    const model = defineModel({ gvk: `values.internal/v1/${kind}`, plural: 'values', schema: holder });
    checkDescriptor(model, { serviceDomain: 'internal', reservedAllowed: true });
    return model;
  } catch (cause) {
    if (!(cause instanceof ModelError)) throw cause;
    const place = cause.attribute.replace(/^Value(?:Spec\b|\.)/, (prefix) => (prefix === 'ValueSpec' ? name : ''));
    throw new Error(`${place}: ${cause.rule}`, { cause });
  }
}
