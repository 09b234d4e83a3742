import type { StoredKind } from '../store/object-key.ts';

/** The kind under which the values of the vault are stored. It has no model, so no path of the API serves it. */
export const vaultKind: StoredKind = { group: 'vault.homeostat.internal', plural: 'values' };
