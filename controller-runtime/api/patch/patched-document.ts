import { ApiError } from '../errors/errors.ts';
import { quoteValue } from '../errors/field-cause.ts';
import { deepEqual } from '../base/json-equal.ts';

/** An operation of a JSON patch (RFC 6902) whose members have the right types. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

/** The reason why an operation is refused, and the value that causes it. */
export interface PatchProblem {
  readonly value: unknown;
  readonly detail: string;
}

/**
 * The maximum number of characters of JSON that all `copy` operations together may add to a document. Each copy can
 * double the document, so without a limit, twenty copies could make megabytes from a few bytes.
 */
const maxCopiedLength = 3 * 1024 * 1024;

/**
 * The maximum number of nodes that all operations of a patch together may visit, which takes 20 to 40 ms. Without a
 * limit, a patch of 40 KiB took 26 s.
 */
const maxVisitedNodes = 1_000_000;

/** The number of visited nodes that cost about as much as one copied node. */
const visitsPerCopy = 8;

/** The number of elements of an array that are shifted in the time of one visit of a node. */
const shiftedPerNode = 100;

/**
 * The maximum number of levels of objects and lists in a document, the outermost included: the limit of any request
 * body. Much deeper values would overflow the stack.
 */
const maxDepth = 64;

/** Segments that are refused, because they lead to prototypes. */
const refusedSegments: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** An index by RFC 6901: digits without leading zeros. */
const indexPattern = /^(?:0|[1-9][0-9]*)$/;

/** The error (413) for a patch that causes too much work. */
export function patchTooLarge(limit: string): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity too large: ${limit}`);
}

/**
 * A JSON pointer and its segments. Only its first 66 segments are kept, two more than the maximum depth of a document:
 * a pointer with so many segments leads nowhere.
 */
interface Pointer {
  readonly text: string;
  readonly tokens: readonly string[];
}

/**
 * A copy of a document, to which operations are applied. Pointers lead only to own members of objects and existing
 * indexes of arrays.
 */
export class PatchedDocument {
  #document: unknown;
  #copiedLength = 0;
  #visitedNodes = 0;

  constructor(target: unknown) {
    this.#document = copyOf(target);
  }

  get value(): unknown {
    return this.#document;
  }

  /**
   * Applies an operation. Returns undefined, or the reason why the operation is refused.
   * @throws ApiError RequestEntityTooLarge when the patch causes too much work.
   */
  apply(operation: PatchOperation): PatchProblem | undefined {
    const path = this.#parse(operation.path);
    const refused = refusedSegment(path);
    switch (operation.op) {
      case 'test':
        return refused ?? this.#missing(path) ?? this.#test(path, operation.value);
      case 'add':
        return refused ?? this.#noPlace(path) ?? this.#addCopy(path, operation.value);
      case 'replace':
        return refused ?? this.#missing(path) ?? this.#replace(path, operation.value);
      case 'remove':
        return refused ?? this.#missing(path) ?? this.#remove(path);
      case 'copy':
      case 'move': {
        const from = this.#parse(operation.from);
        const noSource = refusedSegment(from) ?? this.#missing(from) ?? refused;
        return noSource ?? (operation.op === 'copy' ? this.#copy(from, path) : this.#move(from, path));
      }
    }
  }

  #test(path: Pointer, expected: unknown): PatchProblem | undefined {
    this.#isDeeper(expected, maxDepth);
    if (deepEqual(this.#at(path.tokens), expected)) return undefined;
    return { value: path.text, detail: 'test failed: the value differs' };
  }

  #replace(path: Pointer, value: unknown): PatchProblem | undefined {
    const problem = this.#tooDeep(path, value);
    if (problem === undefined) this.#set(path, copyOf(value));
    return problem;
  }

  #addCopy(path: Pointer, value: unknown): PatchProblem | undefined {
    const problem = this.#tooDeep(path, value);
    if (problem === undefined) this.#add(path, copyOf(value));
    return problem;
  }

  #copy(from: Pointer, path: Pointer): PatchProblem | undefined {
    const value = this.#at(from.tokens);
    const visited = this.#visitedNodes;
    const problem = this.#noPlace(path) ?? this.#tooDeep(path, value);
    if (problem !== undefined) return problem;
    this.#visit((this.#visitedNodes - visited) * (visitsPerCopy - 1));
    this.#copiedLength += JSON.stringify(value).length;
    if (this.#copiedLength > maxCopiedLength)
      throw patchTooLarge(`a JSON patch may copy at most ${maxCopiedLength} characters of JSON in all`);
    this.#add(path, copyOf(value));
    return undefined;
  }

  #move(from: Pointer, path: Pointer): PatchProblem | undefined {
    if (from.text === path.text) return undefined;
    if (path.text.startsWith(`${from.text}/`))
      return { value: path.text, detail: 'a value cannot be moved into itself' };
    const value = this.#at(from.tokens);
    // Only a move to a deeper level can make the value nest too deep. Other moves omit the check, because it visits the
    // whole value.
    const problem = path.tokens.length > from.tokens.length ? this.#tooDeep(path, value) : undefined;
    // RFC 6902 resolves the target of a move after the value was removed.
    const refusal = problem ?? this.#remove(from) ?? this.#noPlace(path);
    if (refusal === undefined) this.#add(path, value);
    return refusal;
  }

  /**
   * Adds a value at a path whose parent exists. If the value is an object or an array, no other part of the document
   * and no operation may refer to the value, because later operations may change it.
   */
  #add(path: Pointer, value: unknown): void {
    const { parent, last } = this.#locate(path);
    if (!Array.isArray(parent)) this.#set(path, value);
    else if (last === '-') parent.push(value);
    else {
      this.#chargeShift(parent, last);
      parent.splice(Number(last), 0, value);
    }
  }

  #set(path: Pointer, value: unknown): void {
    const { parent, last } = this.#locate(path);
    if (path.text === '') this.#document = value;
    else if (isContainer(parent)) parent[last] = value;
  }

  #remove(path: Pointer): PatchProblem | undefined {
    if (path.text === '') return { value: path.text, detail: 'the whole document cannot be removed' };
    const { parent, last } = this.#locate(path);
    if (!Array.isArray(parent)) {
      if (isContainer(parent)) delete parent[last];
    } else {
      this.#chargeShift(parent, last);
      parent.splice(Number(last), 1);
    }
    return undefined;
  }

  #missing({ text, tokens }: Pointer): PatchProblem | undefined {
    return this.#at(tokens) === undefined ? { value: text, detail: 'the path does not exist' } : undefined;
  }

  /**
   * Returns the reason why no value can be added at the path: the parent is missing or is not an object or an array, or
   * the index is beyond the end. Returns undefined when a value can be added.
   */
  #noPlace(path: Pointer): PatchProblem | undefined {
    const { text } = path;
    if (text === '') return undefined;
    const { parent, last } = this.#locate(path);
    if (Array.isArray(parent)) {
      const isPlace = last === '-' || (indexPattern.test(last) && Number(last) <= parent.length);
      return isPlace ? undefined : { value: text, detail: 'must be an index of the array, or "-" for its end' };
    }
    const isObject = typeof parent === 'object' && parent !== null;
    return isObject
      ? undefined
      : { value: text, detail: 'the parent of this path is not an object or an array, so no value can be added' };
  }

  /** Returns a problem if the value would nest too deep at the path. */
  #tooDeep({ text, tokens }: Pointer, value: unknown): PatchProblem | undefined {
    if (!this.#isDeeper(value, maxDepth - tokens.length)) return undefined;
    return { value: text, detail: `the document would nest deeper than ${maxDepth} levels` };
  }

  /**
   * Returns true when the value has more than this many levels. Each node that this function checks counts toward
   * {@link maxVisitedNodes}. It checks all nodes of the value, unless the value is too deep.
   */
  #isDeeper(value: unknown, levels: number): boolean {
    this.#visit(1);
    if (typeof value !== 'object' || value === null) return false;
    if (levels <= 0) return true;
    const children: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (const child of children) {
      if (this.#isDeeper(child, levels - 1)) return true;
    }
    return false;
  }

  /**
   * Counts one visited node for every 100 elements that an addition to an array, or a removal from it, shifts: these
   * are all elements from the index on.
   */
  #chargeShift({ length }: readonly unknown[], index: string): void {
    this.#visit(Math.floor((length - Number(index)) / shiftedPerNode));
  }

  #visit(nodes: number): void {
    this.#visitedNodes += nodes;
    if (this.#visitedNodes > maxVisitedNodes)
      throw patchTooLarge(`a JSON patch may visit at most ${maxVisitedNodes} nodes in all`);
  }

  #parse(text: string): Pointer {
    const tokens = text.split('/', maxDepth + 3).slice(1);
    this.#visit(tokens.length);
    return { text, tokens: text.includes('~') ? tokens.map(unescapeToken) : tokens };
  }

  #locate({ tokens }: Pointer): { readonly parent: unknown; readonly last: string } {
    const last = tokens.at(-1);
    return last === undefined ? { parent: undefined, last: '' } : { parent: this.#at(tokens.slice(0, -1)), last };
  }

  #at(tokens: readonly string[]): unknown {
    let value = this.#document;
    for (const token of tokens) {
      this.#visit(1);
      value = childOf(value, token);
      if (value === undefined) break;
    }
    return value;
  }
}

/**
 * True for objects and arrays. Both count as records, because JavaScript sets an index of an array in the same way as a
 * key of an object.
 */
const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

function refusedSegment({ text, tokens }: Pointer): PatchProblem | undefined {
  const refused = tokens.find((token) => refusedSegments.has(token));
  return refused === undefined ? undefined : { value: text, detail: `the segment ${quoteValue(refused)} is refused` };
}

function childOf(parent: unknown, token: string): unknown {
  if (Array.isArray(parent)) return indexPattern.test(token) ? parent[Number(token)] : undefined;
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, token)) return undefined;
  return Reflect.get(parent, token);
}

/** Returns a copy of a JSON value, at a third of the cost of `structuredClone`. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(value)) setOwn(copy, name, copyOf(child));
  return copy;
}

/**
 * Sets a member of an object. An assignment to `__proto__` would replace the prototype, so the member is defined as an
 * own property.
 */
function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
