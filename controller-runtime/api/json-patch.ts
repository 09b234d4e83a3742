import { applyPatch } from 'rfc6902';
import type { Operation } from 'rfc6902';
import { ApiError } from './errors.ts';
import { invalidValue, quoteValue } from './field-cause.ts';
import { deepEqual } from './json-equal.ts';

/** Kubernetes' limit. */
const maxOperations = 10_000;

/** What `copy` may add to a document in all, in characters of JSON: twelve copies can make megabytes of a few bytes. */
const maxCopiedLength = 3 * 1024 * 1024;

/** Elements that all operations together may push aside in arrays: about 0.1 s of work. Unbounded, a patch took 3 s. */
const maxShiftedElements = 250_000_000;

/** Levels of objects and lists in a document, the outermost counted: those of any body. What nests deeper overflows the stack. */
const maxDepth = 64;

/** Never followed: they lead to prototypes, and the library skips them as if they had been applied. */
const refusedSegments: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** RFC 6901: digits without leading zeros. */
const indexPattern = /^(?:0|[1-9][0-9]*)$/;

/**
 * The target with a JSON patch applied (RFC 6902), all operations or none; the target is never changed. Throws
 * ApiError BadRequest for what is no list of objects; Invalid for an unknown `op`, a failed test, a missing path, a segment named `__proto__`,
 * `constructor` or `prototype`, and for what would nest deeper than 64 levels; RequestEntityTooLarge beyond 10,000
 * operations, 3 MiB of copies or 250 million shifted array elements. The cause's field is `patch[<index of the operation>]`,
 * its message holds the path.
 */
export function applyJsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw new ApiError('BadRequest', 'error decoding patch: a JSON patch is an array');
  if (operations.length > maxOperations) {
    throw tooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`);
  }
  const checked = operations.map(readOperation);
  const document = new PatchedDocument(target);
  for (const [index, operation] of checked.entries()) {
    const problem = document.apply(operation);
    if (problem !== undefined) throw refusal('Invalid', index, problem);
  }
  return document.value;
}

function tooLarge(limit: string): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity too large: ${limit}`);
}

/** Why an operation is refused, and which of its values is to blame. */
interface Problem {
  readonly value: unknown;
  readonly detail: string;
}

function refusal(reason: 'BadRequest' | 'Invalid', index: number, problem: Problem): ApiError {
  const cause = invalidValue(`patch[${index}]`, problem.value, problem.detail);
  return new ApiError(reason, `the patch cannot be applied: ${cause.field}: ${cause.message}`, { causes: [cause] });
}

function readOperation(operation: unknown, index: number): Operation {
  const problem = shapeProblem(operation);
  if (problem !== undefined) throw refusal(isObject(operation) ? 'Invalid' : 'BadRequest', index, problem);
  return operation as Operation;
}

function isObject(operation: unknown): operation is object {
  return typeof operation === 'object' && operation !== null;
}

function shapeProblem(operation: unknown): Problem | undefined {
  if (!isObject(operation)) return { value: operation, detail: 'must be an object' };
  const { op, path, from } = operation as Readonly<Record<string, unknown>>;
  switch (op) {
    case 'remove':
      return pointerProblem('path', path);
    case 'add':
    case 'replace':
    case 'test':
      return pointerProblem('path', path) ?? valueProblem(operation, path);
    case 'move':
    case 'copy':
      return pointerProblem('path', path) ?? pointerProblem('from', from);
    default:
      return { value: op ?? null, detail: 'op must be one of add, remove, replace, move, copy, test' };
  }
}

function pointerProblem(member: string, pointer: unknown): Problem | undefined {
  const isPointer = typeof pointer === 'string' && /^(?:\/|$)/.test(pointer) && !/~(?![01])/.test(pointer);
  return isPointer ? undefined : { value: pointer ?? null, detail: `${member} must be a JSON pointer (RFC 6901)` };
}

function valueProblem(operation: object, path: unknown): Problem | undefined {
  return Object.hasOwn(operation, 'value') ? undefined : { value: path, detail: 'value is missing' };
}

/**
 * A document under change. Every pointer is resolved here, strictly (own members, exact array indexes), before the
 * library acts on it: alone it follows prototypes, reads `1e0` as an index, takes a missing index for the last one and
 * overflows the stack when it compares lists of 3,000 elements.
 */
class PatchedDocument {
  /** One level above the document, so that replacing the whole of it is no special case. */
  readonly #holder: { document: unknown };
  #copiedLength = 0;
  #shiftedElements = 0;

  constructor(target: unknown) {
    this.#holder = { document: structuredClone(target) };
  }

  get value(): unknown {
    return this.#holder.document;
  }

  apply(operation: Operation): Problem | undefined {
    const { path } = operation;
    switch (operation.op) {
      case 'test':
        return this.#missing(path) ?? this.#test(path, operation.value);
      case 'add':
        return this.#noPlace(path) ?? tooDeep(path, operation.value) ?? this.#add(path, operation.value);
      case 'replace':
        return this.#missing(path) ?? tooDeep(path, operation.value) ?? this.#replace(path, operation.value);
      case 'remove':
        return this.#missing(path) ?? this.#remove(path);
      case 'copy':
        return this.#missing(operation.from) ?? this.#noPlace(path) ?? this.#copy(operation.from, path);
      case 'move':
        return this.#missing(operation.from) ?? refusedSegment(path) ?? this.#move(operation.from, path);
    }
  }

  #test(path: string, expected: unknown): Problem | undefined {
    return deepEqual(this.#at(path), expected) ? undefined : { value: path, detail: 'test failed: the value differs' };
  }

  #replace(path: string, value: unknown): Problem | undefined {
    return this.#run({ op: 'replace', path: inside(path), value });
  }

  #copy(from: string, path: string): Problem | undefined {
    const value = this.#at(from);
    const problem = tooDeep(path, value);
    if (problem !== undefined) return problem;
    this.#copiedLength += JSON.stringify(value).length;
    if (this.#copiedLength > maxCopiedLength)
      throw tooLarge(`a JSON patch may copy at most ${maxCopiedLength} bytes in all`);
    this.#chargeShift(path);
    return this.#run({ op: 'copy', from: inside(from), path: inside(path) });
  }

  #add(path: string, value: unknown): Problem | undefined {
    this.#chargeShift(path);
    return this.#run({ op: 'add', path: inside(path), value });
  }

  #remove(path: string): Problem | undefined {
    if (path === '') return { value: path, detail: 'the whole document cannot be removed' };
    this.#chargeShift(path);
    return this.#run({ op: 'remove', path: inside(path) });
  }

  /** Out to a place beside the document and in again, since the target is to be found after the value is gone. */
  #move(from: string, path: string): Problem | undefined {
    if (from === path) return undefined;
    if (path.startsWith(`${from}/`)) return { value: path, detail: 'a value cannot be moved into itself' };
    const problem = tooDeep(path, this.#at(from));
    if (problem !== undefined) return problem;
    this.#chargeShift(from);
    this.#chargeShift(path);
    return (
      this.#run({ op: 'move', from: inside(from), path: '/moved' }) ??
      this.#noPlace(path) ??
      this.#run({ op: 'move', from: '/moved', path: inside(path) })
    );
  }

  /** Adding to an array and removing from it move all that follows. */
  #chargeShift(path: string): void {
    const { parent, last } = this.#locate(path);
    if (!Array.isArray(parent) || !indexPattern.test(last)) return;
    this.#shiftedElements += Math.max(0, parent.length - Number(last));
    if (this.#shiftedElements > maxShiftedElements) {
      throw tooLarge(`a JSON patch may move at most ${maxShiftedElements} array elements in all`);
    }
  }

  #run(operation: Operation): Problem | undefined {
    const [error] = applyPatch(this.#holder, [operation]);
    return error ? { value: operation.path, detail: error.message } : undefined;
  }

  #missing(path: string): Problem | undefined {
    const refused = refusedSegment(path);
    if (refused !== undefined) return refused;
    return this.#at(path) === undefined ? { value: path, detail: 'the path does not exist' } : undefined;
  }

  /** Why nothing can be added at the path: its parent is missing, is no container, or the index is beyond the end. */
  #noPlace(path: string): Problem | undefined {
    const refused = refusedSegment(path);
    if (refused !== undefined || path === '') return refused;
    const { parent, last } = this.#locate(path);
    if (Array.isArray(parent)) {
      const isPlace = last === '-' || (indexPattern.test(last) && Number(last) <= parent.length);
      return isPlace ? undefined : { value: path, detail: 'no index of this array, nor its end' };
    }
    return isObject(parent)
      ? undefined
      : { value: path, detail: 'the path does not exist: nothing can be added there' };
  }

  #locate(path: string): { readonly parent: unknown; readonly last: string } {
    const slash = path.lastIndexOf('/');
    return { parent: slash < 0 ? undefined : this.#at(path.slice(0, slash)), last: path.slice(slash + 1) };
  }

  #at(path: string): unknown {
    let value = this.#holder.document;
    for (const token of tokensOf(path)) {
      value = childOf(value, token);
      if (value === undefined) break;
    }
    return value;
  }
}

function inside(path: string): string {
  return `/document${path}`;
}

function tokensOf(path: string): readonly string[] {
  const tokens = path.split('/').slice(1);
  return path.includes('~') ? tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')) : tokens;
}

function refusedSegment(path: string): Problem | undefined {
  const refused = tokensOf(path).find((token) => refusedSegments.has(token));
  return refused === undefined ? undefined : { value: path, detail: `the segment ${quoteValue(refused)} is refused` };
}

/** Why the value cannot stand at the path. */
function tooDeep(path: string, value: unknown): Problem | undefined {
  const levels = maxDepth - tokensOf(path).length;
  if (!isDeeper(value, levels)) return undefined;
  return { value: path, detail: `the document would nest deeper than ${maxDepth} levels` };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels <= 0 || Object.values(value).some((child) => isDeeper(child, levels - 1));
}

function childOf(parent: unknown, token: string): unknown {
  if (Array.isArray(parent)) return indexPattern.test(token) ? parent[Number(token)] : undefined;
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, token)) return undefined;
  return (parent as Readonly<Record<string, unknown>>)[token];
}
