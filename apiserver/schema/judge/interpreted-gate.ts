import { isJsonObject } from '@homeostat/controller-runtime/api';
import { CheckBudget, maxWork, workOfComparison } from './check-budget.ts';
import { isLongerThan, isShorterThan } from './code-points.ts';
import { isDistinct } from './distinct.ts';
import { isExact, isInRange } from './number-range.ts';
import { isEmbeddedResource } from './embedded-resource.ts';
import type { LinearPatterns } from './linear-pattern.ts';
import { typeBitOf } from './schema-node.ts';
import type { InPlace, SchemaNode } from './schema-node.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Validates values with a schema without generating code. So it needs no preparation, however large the schema is, and
 * is safe for schemas that clients send. It takes about twice as long as code that ajv generates: 2 µs instead of 1 µs
 * for an object of 1 KB.
 */
export class InterpretedGate {
  readonly #root: SchemaNode;
  readonly #patterns: LinearPatterns;
  readonly #budget = new CheckBudget(maxWork);
  readonly #compares = (values: number): boolean => this.#budget.spend(workOfComparison * values);

  constructor(root: SchemaNode, patterns: LinearPatterns) {
    this.#root = root;
    this.#patterns = patterns;
  }

  /**
   * Returns true for a value without a violation. Returns false, and sets {@link gaveUp}, when the check would exceed
   * the maximum work.
   */
  accepts(value: unknown): boolean {
    this.#budget.reset();
    // If the check ended early, the value is refused: below `not`, a part that was not checked would count as valid.
    return this.#accepts(this.#root, value) && !this.#budget.isSpent;
  }

  /** True when the last value was refused because its check would exceed the maximum work. */
  get gaveUp(): boolean {
    return this.#budget.isSpent;
  }

  #accepts(node: SchemaNode, value: unknown): boolean {
    if (!this.#budget.spend()) return false;
    if (value === null && node.isNullable) return true;
    if ((typeBitOf(value) & node.types) === 0) return false;
    if (node.values !== undefined && !node.values.has(value, this.#budget)) return false;
    if (node.constant !== undefined && !node.constant.has(value, this.#budget)) return false;
    if (!this.#acceptsContent(node, value)) return false;
    return node.inPlace === undefined || this.#acceptsInPlace(node.inPlace.value, value);
  }

  #acceptsContent(node: SchemaNode, value: unknown): boolean {
    if (typeof value === 'string') return !node.judgesText || this.#acceptsText(node, value);
    if (typeof value === 'number') return isExact(value) && !node.judgesNumbers ? true : isInRange(node.schema, value);
    if (typeof value !== 'object' || value === null) return true;
    if (Array.isArray(value)) return this.#acceptsList(node, value);
    return !isJsonObject(value) || this.#acceptsObject(node, value);
  }

  #acceptsText({ schema, format }: SchemaNode, text: string): boolean {
    const { minLength, maxLength, pattern } = schema;
    if (minLength !== undefined && isShorterThan(text, minLength)) return false;
    if (maxLength !== undefined && isLongerThan(text, maxLength)) return false;
    if (format === undefined && pattern === undefined) return true;
    // To match a character takes the time of a fifth of a unit. It counts as a little more: a quarter of a unit.
    if (!this.#budget.spend(text.length / 4)) return false;
    if (format !== undefined && !format(text)) return false;
    return pattern === undefined || this.#patterns.matches(pattern, text);
  }

  #acceptsObject(node: SchemaNode, fields: Fields): boolean {
    const { required } = node;
    if (!this.#budget.spend(required.length)) return false;
    for (const name of required) {
      if (!Object.hasOwn(fields, name) || fields[name] === undefined) return false;
    }
    if (node.judgesFields && !this.#acceptsFields(node, fields)) return false;
    return !node.isEmbedded || isEmbeddedResource(fields);
  }

  #acceptsFields(node: SchemaNode, fields: Fields): boolean {
    let count = 0;
    for (const name in fields) {
      count += 1;
      const value = fields[name];
      if (value === undefined) continue;
      const child = node.property(name) ?? node.additional?.value;
      if (child !== undefined) {
        if (!this.#accepts(child, value)) return false;
      } else if (node.isClosed || !this.#budget.spend()) return false;
    }
    return count >= node.minProperties && count <= node.maxProperties;
  }

  #acceptsList({ items, identity, minItems, maxItems }: SchemaNode, list: readonly unknown[]): boolean {
    if (list.length < minItems || list.length > maxItems) return false;
    if (items !== undefined) {
      const node = items.value;
      for (let index = 0; index < list.length; index += 1) if (!this.#accepts(node, list[index])) return false;
    }
    return (
      identity === undefined || (this.#budget.spend(5 * list.length) && isDistinct(list, identity, this.#compares))
    );
  }

  #acceptsInPlace({ reference, allOf, anyOf, oneOf, not }: InPlace, value: unknown): boolean {
    if (reference !== undefined && !this.#accepts(reference, value)) return false;
    for (const branch of allOf) if (!this.#accepts(branch, value)) return false;
    if (anyOf !== undefined && !anyOf.some((branch) => this.#accepts(branch, value))) return false;
    if (oneOf !== undefined && !this.#acceptsOne(oneOf, value)) return false;
    return not === undefined || !this.#accepts(not, value);
  }

  #acceptsOne(branches: readonly SchemaNode[], value: unknown): boolean {
    let accepted = 0;
    for (const branch of branches) {
      if (this.#accepts(branch, value)) accepted += 1;
      if (accepted > 1) return false;
    }
    return accepted === 1;
  }
}
