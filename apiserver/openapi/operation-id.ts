import type { Fragment, Operation, PathItem } from './open-api.ts';
import { methods } from './open-api.ts';

/** `listPeopleExampleComV1alpha1Person`: words joined, each with a capital but the first; what is no letter or digit parts words. */
export function operationId(...words: readonly string[]): string {
  const parts = words.flatMap((word) => word.split(/[^A-Za-z0-9]+/)).filter((part) => part !== '');
  return parts.map((part, index) => (index === 0 ? part : part.charAt(0).toUpperCase() + part.slice(1))).join('');
}

/** The operations of one document: gives a number to each id that comes a second time. `a-b.com` and `a.b.com` make the same words. */
export class OperationIds {
  readonly #seen = new Map<string, number>();

  /** The paths, with ids that no operation before has. */
  unique(paths: Fragment['paths']): Fragment['paths'] {
    return Object.fromEntries(
      Object.entries(paths).map(([path, item]): [string, PathItem] => {
        const renamed: Record<string, Operation> = {};
        for (const method of methods) if (item[method] !== undefined) renamed[method] = this.#rename(item[method]);
        return [path, { ...item, ...renamed }];
      }),
    );
  }

  #rename(operation: Operation): Operation {
    const count = (this.#seen.get(operation.operationId) ?? 0) + 1;
    this.#seen.set(operation.operationId, count);
    if (count === 1) return operation;
    return this.#rename({ ...operation, operationId: `${operation.operationId}_${count}` });
  }
}
