import { ApiError } from '@homeostat/controller-runtime/api';
import { formatPath } from '../schema/judge/field-path.ts';
import type { PathSegment } from '../schema/judge/field-path.ts';
import { isIllFormed } from './json-value.ts';

/**
 * The maximum sum of the numbers of characters and values in a document, counted after its aliases are copied. It
 * equals the maximum number of bytes of a body, 3 MiB.
 */
const maxSize = 3 * 1024 * 1024;

/**
 * Copies the value that a YAML parser returned. Each alias is copied separately, since objects are changed in place
 * later.
 * @throws ApiError BadRequest for values that JSON cannot represent, for cycles, and beyond the limits.
 */
export function copyAsJson(value: unknown, maxDepth: number): unknown {
  return new JsonCopier(maxDepth).copy(value);
}

class JsonCopier {
  readonly #maxDepth: number;
  readonly #path: PathSegment[] = [];
  readonly #ancestors = new Set<object>();
  #size = 0;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  copy(value: unknown): unknown {
    this.#spend(1);
    if (typeof value === 'string') return this.#copyText(value);
    if (typeof value === 'number' && !Number.isFinite(value))
      throw this.#refuse('has a number that JSON cannot represent');
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
    if (typeof value !== 'object') throw this.#refuse(`has a value that JSON cannot represent (${typeof value})`);
    return this.#copyContainer(value);
  }

  #copyContainer(value: object): unknown {
    if (this.#ancestors.has(value)) throw this.#refuse('is an alias of a value that contains it');
    if (this.#ancestors.size >= this.#maxDepth) throw this.#refuse(`nests deeper than ${this.#maxDepth} levels`);
    this.#ancestors.add(value);
    const copy = Array.isArray(value) ? this.#copyItems(value) : this.#copyFields(value);
    this.#ancestors.delete(value);
    return copy;
  }

  #copyItems(items: readonly unknown[]): unknown[] {
    return items.map((item, index) => this.#copyAt(index, item));
  }

  #copyFields(value: object): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    for (const [name, child] of Object.entries(value)) copy[this.#copyText(name)] = this.#copyAt(name, child);
    return copy;
  }

  #copyAt(segment: PathSegment, value: unknown): unknown {
    this.#path.push(segment);
    const copy = this.copy(value);
    this.#path.pop();
    return copy;
  }

  #copyText(text: string): string {
    this.#spend(text.length);
    if (isIllFormed(text)) throw this.#refuse('has half of a surrogate pair, which UTF-8 cannot encode');
    return text;
  }

  #spend(size: number): void {
    this.#size += size;
    if (this.#size > maxSize) throw new ApiError('BadRequest', 'the aliases of the YAML document make it too large');
  }

  #refuse(why: string): ApiError {
    if (this.#path.length === 0) return new ApiError('BadRequest', `the body ${why}`);
    const field = formatPath(this.#path);
    const message = `the field "${field}" ${why}`;
    return new ApiError('BadRequest', message, { causes: [{ reason: 'FieldValueInvalid', field, message }] });
  }
}
