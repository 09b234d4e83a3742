import type { Fragment, OpenApiOperation, PathItem } from './open-api.ts';
import { methods } from './open-api.ts';

/**
 * Joins words into an id such as `listPeopleExampleComV1alpha1Person`. Each word but the first begins with a capital.
 * Characters other than letters and digits separate words.
 */
export function operationId(...words: readonly string[]): string {
  const parts = words.flatMap((word) => word.split(/[^A-Za-z0-9]+/)).filter((part) => part !== '');
  return parts.map((part, index) => (index === 0 ? part : part.charAt(0).toUpperCase() + part.slice(1))).join('');
}

/**
 * Makes the operation ids of one document unique, by adding a number to repeated ids. Ids repeat, for example, for the
 * groups `a-b.com` and `a.b.com`, because {@link operationId} drops all characters but letters and digits.
 */
export class OperationIds {
  readonly #seen = new Map<string, number>();

  /** Returns the paths, with operation ids that differ from all earlier ones. */
  unique(paths: Fragment['paths']): Fragment['paths'] {
    return Object.fromEntries(
      Object.entries(paths).map(([path, item]): [string, PathItem] => {
        const renamed: Record<string, OpenApiOperation> = {};
        for (const method of methods) if (item[method] !== undefined) renamed[method] = this.#rename(item[method]);
        return [path, { ...item, ...renamed }];
      }),
    );
  }

  #rename(operation: OpenApiOperation): OpenApiOperation {
    const count = (this.#seen.get(operation.operationId) ?? 0) + 1;
    this.#seen.set(operation.operationId, count);
    if (count === 1) return operation;
    return this.#rename({ ...operation, operationId: `${operation.operationId}_${count}` });
  }
}
