import { AccountIssuer } from '../identity/accounts/account-issuer.ts';
import { AccountLookup } from '../identity/accounts/account-lookup.ts';
import { SigningKeys } from '../identity/accounts/signing-keys.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Vault } from '../vault/vault.ts';
import type { Settings } from './api-server-options.ts';

export interface AccountParts {
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly vault: Vault;
}

/** Makes the part that signs tokens of service accounts, and knows their users. */
export function createAccountIssuer(
  { serviceAccountIssuer, serviceDomain, clock, uuid }: Settings,
  { table, revisions, vault }: AccountParts,
): AccountIssuer {
  return new AccountIssuer({
    issuer: serviceAccountIssuer ?? `https://${serviceDomain}`,
    keys: new SigningKeys({ vault, clock }),
    accounts: new AccountLookup(table),
    reach: async () => revisions.reach(undefined),
    clock,
    uuid,
  });
}
