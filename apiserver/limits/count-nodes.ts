import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';
import type { BodyLimits } from './body-limits.ts';

/** Counts the nodes of a body while it is read. @throws ApiError RequestEntityTooLarge beyond the limits. */
export class NodeCount {
  readonly #maxFields: number;
  readonly #maxNodes: number;
  #nodes = 0;

  constructor({ maxFields = Infinity, maxNodes = Infinity }: BodyLimits) {
    this.#maxFields = maxFields;
    this.#maxNodes = maxNodes;
  }

  addNode(): void {
    this.#nodes += 1;
    if (this.#nodes > this.#maxNodes) throw tooLarge(`more than ${this.#maxNodes} fields and items`);
  }

  /** Checks the number of fields of one JSON object. */
  checkFields(fields: number): void {
    if (fields > this.#maxFields) throw tooLarge(`a JSON object has more than ${this.#maxFields} fields`);
  }
}

/** Counts the fields and items of a parsed value. @throws ApiError RequestEntityTooLarge beyond the limits. */
export function checkCounts(value: unknown, limits: BodyLimits): void {
  countBelow(value, new NodeCount(limits));
}

function countBelow(value: unknown, count: NodeCount): void {
  count.addNode();
  if (typeof value !== 'object' || value === null) return;
  count.addNode();
  if (Array.isArray(value)) {
    for (const item of value) countBelow(item, count);
    return;
  }
  if (!isJsonObject(value)) return;
  const names = Object.keys(value);
  count.checkFields(names.length);
  for (const name of names) countBelow(value[name], count);
}

/** Returns the error (413) for a body that is too large. */
export function tooLarge(why: string): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity too large: ${why}`);
}
