import type { DefinitionNames } from './definition.ts';

/**
 * Returns the names of a definition. As in Kubernetes, an absent or empty `singular` is replaced by the kind in lower
 * case, and an absent or empty `listKind` by the kind, followed by List.
 */
export function completeNames(names: DefinitionNames): DefinitionNames & { readonly singular: string } {
  const { kind, singular = '', listKind = '' } = names;
  return {
    ...names,
    singular: singular === '' ? kind.toLowerCase() : singular,
    listKind: listKind === '' ? `${kind}List` : listKind,
  };
}
