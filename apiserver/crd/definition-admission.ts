import { ApiError } from '@homeostat/controller-runtime/api';
import { liveClaim } from '../registry/kinds/live-claim.ts';
import type { CreationRule } from '../registry/kinds/live-claim.ts';
import { notServed } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { definitionModel } from './definition-model.ts';
import { definitionOfOwner } from './served-definitions.ts';

/**
 * Returns the rule that a custom resource is created only while its CustomResourceDefinition exists and is not being
 * deleted: the definition holds a claim, which each creation requires, see {@link liveClaim}. The rule throws ApiError
 * MethodNotAllowed while the definition is being deleted, and NotFound once it has been removed.
 */
export function definitionAdmission(table: ResourceTable): CreationRule {
  const getDefinitions = table.getterOf(definitionModel);
  return {
    covers: ({ owner }) => definitionOfOwner(owner) !== undefined,
    claimOf({ model, owner }) {
      const name = definitionOfOwner(owner) ?? '';
      const definitions = getDefinitions();
      const entry = definitions?.cache.get(name);
      if (definitions === undefined || entry === undefined) throw notServed(model);
      if (entry.deletion === undefined) return liveClaim(definitions, entry);
      const message = `create not allowed while custom resource definition ${name} is terminating`;
      throw new ApiError('MethodNotAllowed', message);
    },
  };
}
