import { compareCodePoints } from '../base/code-point-order.ts';
import { quoteValue } from '../errors/field-cause.ts';
import type { IndexAttribute } from '../model/index-spec.ts';
import type { Model } from '../model/model.ts';
import type { ApiObject } from '../object/object.ts';

const noValues: readonly string[] = Object.freeze([]);

/**
 * Makes the function of an index with at most one value for each object (specification, section 2.8). undefined and
 * null mean "no value". Values must be strings: any other value causes a TypeError when the object is indexed. The
 * compiler infers the parameter of `fn` from `model`; errors contain the name of the model.
 */
export function simpleAttribute<T extends ApiObject>(
  model: Model<T>,
  fn: (object: T) => string | undefined | null,
): IndexAttribute<T> {
  const name = modelName(model);
  return Object.freeze({
    multiValued: false,
    valuesOf(object: T): readonly string[] {
      const value: unknown = fn(object);
      return value === undefined || value === null ? noValues : [checkString(name, value)];
    },
  });
}

/**
 * Makes the function of an index with a set of values for each object (specification, section 2.8). An absent set
 * counts as the empty set. The values are sorted by code point, without duplicates. When an object is indexed, a value
 * that is not a string causes a TypeError, and so does a string in place of a set.
 */
export function multiValueAttribute<T extends ApiObject>(
  model: Model<T>,
  fn: (object: T) => ReadonlySet<string> | readonly string[] | undefined | null,
): IndexAttribute<T> {
  const name = modelName(model);
  return Object.freeze({
    multiValued: true,
    valuesOf(object: T): readonly string[] {
      const values: unknown = fn(object);
      if (values === undefined || values === null) return noValues;
      if (!Array.isArray(values) && !(values instanceof Set)) {
        throw new TypeError(
          `index function of ${name} returned ${describeValue(values)}: it must return a set or an array of strings`,
        );
      }
      return distinctSorted(Array.from(values, (value: unknown) => checkString(name, value)));
    },
  });
}

/**
 * `simpleAttribute` and `multiValueAttribute` as static methods of the class that the specification names
 * (specification, section 2.8).
 */
export class IndexAttributeFactory {
  static readonly simpleAttribute: typeof simpleAttribute = simpleAttribute;
  static readonly multiValueAttribute: typeof multiValueAttribute = multiValueAttribute;
}

/** Returns the values without duplicates, sorted by code point, which is the order of an index. */
export function distinctSorted(values: readonly string[]): readonly string[] {
  return values.length < 2 ? values : [...new Set(values)].toSorted(compareCodePoints);
}

function checkString(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError(
    `index function of ${name} returned ${describeValue(value)}: index values must be strings; convert other types`,
  );
}

function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return `the string ${quoteValue(value)}`;
  if (typeof value === 'number' || typeof value === 'boolean') return `the ${typeof value} ${value}`;
  return `a value of type ${typeof value}`;
}

function modelName(model: Model): string {
  return typeof model === 'function' ? model.name : model.kind;
}
