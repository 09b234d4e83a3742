import { type JsonObject } from '../base/json-object.ts';
import { ApiError } from '../errors/errors.ts';
import { invalidValue } from '../errors/field-cause.ts';
import { PatchedDocument, patchTooLarge } from './patched-document.ts';
import type { PatchOperation, PatchProblem } from './patched-document.ts';

/** The maximum number of operations in a patch, as in Kubernetes. */
const maxOperations = 10_000;

/**
 * Returns the target with a JSON patch applied (RFC 6902), all operations or none; the target is never changed. Throws
 * ApiError BadRequest for a patch that is not a list of objects; Invalid for an operation that is malformed or cannot
 * be applied: for example, an unknown `op`, a failed test, a missing path, a segment named `__proto__`, `constructor`
 * or `prototype`, or a result that nests deeper than 64 levels; RequestEntityTooLarge for more than 10,000 operations,
 * 3 MiB of copies or a million visited nodes. The field of the cause is `patch[<index of the operation>]`; its message
 * contains the path.
 *
 * These count as visited nodes: each segment of a pointer, when it is parsed and each time it is followed; each node of
 * a value that is added, put in place of another value, compared, or moved to a deeper level; each node of a value that
 * `copy` copies (as eight nodes); and every 100 elements of an array that are shifted.
 */
export function applyJsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw new ApiError('BadRequest', 'error decoding patch: a JSON patch is an array');
  if (operations.length > maxOperations) {
    throw patchTooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`);
  }
  const checked = operations.map(readOperation);
  const document = new PatchedDocument(target);
  for (const [index, operation] of checked.entries()) {
    const problem = document.apply(operation);
    if (problem !== undefined) throw refusal('Invalid', index, problem);
  }
  return document.value;
}

function refusal(reason: 'BadRequest' | 'Invalid', index: number, problem: PatchProblem): ApiError {
  const cause = invalidValue(`patch[${index}]`, problem.value, problem.detail);
  return new ApiError(reason, `the patch cannot be applied: ${cause.field}: ${cause.message}`, { causes: [cause] });
}

function readOperation(operation: unknown, index: number): PatchOperation {
  const problem = shapeProblem(operation);
  if (problem !== undefined) throw refusal(isObject(operation) ? 'Invalid' : 'BadRequest', index, problem);
  return operation as PatchOperation;
}

function isObject(operation: unknown): operation is JsonObject {
  return typeof operation === 'object' && operation !== null;
}

function shapeProblem(operation: unknown): PatchProblem | undefined {
  if (!isObject(operation)) return { value: operation, detail: 'must be an object' };
  const { op, path, from } = operation;
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

function pointerProblem(member: string, pointer: unknown): PatchProblem | undefined {
  const isPointer = typeof pointer === 'string' && /^(?:\/|$)/.test(pointer) && !/~(?![01])/.test(pointer);
  return isPointer ? undefined : { value: pointer ?? null, detail: `${member} must be a JSON pointer (RFC 6901)` };
}

function valueProblem(operation: object, path: unknown): PatchProblem | undefined {
  return Object.hasOwn(operation, 'value') ? undefined : { value: path, detail: 'value is missing' };
}
