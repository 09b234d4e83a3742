import type { StoredKind } from '../store/object-key.ts';

/** The kind under which the vault's values are stored. No model has it, so that no path serves it. */
export const vaultKind: StoredKind = { group: 'vault.homeostat.internal', plural: 'values' };
