import type { Client } from '@homeostat/controller-runtime';
import { apiVersionOf, isAlreadyExists, isApiError, reasonOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, GroupVersionKind, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { DeclarationMistake } from './declaration-mistake.ts';
import { mistakeAt, standInName } from './declared-object.ts';
import type { DeclaredObject } from './declared-object.ts';
import { errorText } from '../text/error-text.ts';

export interface CheckDeclaredParts {
  readonly client: Client;
  /** Returns the model of a kind; undefined when the kind is not registered. */
  readonly lookup: (gvk: GroupVersionKind) => ModelDescriptor | undefined;
  readonly signal: AbortSignal;
}

/** A declared object whose kind is registered. */
export interface KnownObject {
  readonly declared: DeclaredObject;
  readonly model: ModelDescriptor;
  /** True if the object exists already; false if it is still to be created. */
  readonly isPresent: boolean;
}

type DeclaredOfKind = Pick<KnownObject, 'declared' | 'model'>;

export interface CheckedObjects {
  /** The objects that the server accepts in the dry run, and the objects that exist already. */
  readonly known: readonly KnownObject[];
  readonly mistakes: readonly DeclarationMistake[];
}

/**
 * Tries to create every object in a dry run. Finds kinds that are not registered, objects that the server would refuse,
 * and objects with the same name, or with the same value under a unique index.
 */
export async function checkDeclaredObjects(
  objects: readonly DeclaredObject[],
  parts: CheckDeclaredParts,
): Promise<CheckedObjects> {
  const known: KnownObject[] = [];
  const mistakes = duplicateNames(objects);
  const claims = new Map<string, DeclaredObject>();
  for (const declared of objects) {
    const model = parts.lookup(declared.gvk);
    if (model === undefined) {
      const { gvk } = declared;
      mistakes.push(mistakeAt(declared, `${apiVersionOf(gvk)} ${gvk.kind} is not registered`, 'kind'));
      continue;
    }
    const tried = await tryCreate({ declared, model }, parts);
    mistakes.push(...tried.mistakes);
    if (tried.created !== undefined) mistakes.push(...duplicateValues({ declared, model }, tried.created, claims));
    if (tried.mistakes.length === 0) known.push({ declared, model, isPresent: tried.created === undefined });
  }
  return { known, mistakes };
}

/** Returns the violations that the server has reported for an object, with their lines in the file. */
export function mistakesOf(declared: DeclaredObject, error: unknown): readonly DeclarationMistake[] {
  if (!isApiError(error) || error.causes.length === 0) return [mistakeAt(declared, errorText(error))];
  return error.causes.map(({ field, message }) => mistakeAt(declared, message, field));
}

interface Tried {
  /** The object as it would be stored; absent if it would be refused, or exists already. */
  readonly created?: ApiObject;
  readonly mistakes: readonly DeclarationMistake[];
}

async function tryCreate({ declared, model }: DeclaredOfKind, { client, signal }: CheckDeclaredParts): Promise<Tried> {
  const found = new Map<string, DeclarationMistake>();
  for (const { object, fieldValidation } of attemptsFor(declared)) {
    signal.throwIfAborted();
    try {
      const created = await client.create(model, object, { dryRun: true, fieldValidation, signal });
      return found.size === 0 ? { created, mistakes: [] } : { mistakes: [...found.values()] };
    } catch (error) {
      if (isAlreadyExists(error)) break;
      for (const each of mistakesOf(declared, error)) found.set(`${each.field ?? ''}: ${each.message}`, each);
      if (reasonOf(error) !== 'BadRequest') break;
    }
  }
  return { mistakes: [...found.values()] };
}

/**
 * Returns the attempts to create an object: first with all checks, then without the check for unknown fields, and then
 * also with a placeholder name in place of the metadata; only the namespace stays. One attempt is not enough, because a
 * mistake that an earlier check finds (400) hides violations of the schema (422).
 */
function attemptsFor({
  object,
}: DeclaredObject): readonly { object: DeclaredObject['object']; fieldValidation: 'Strict' | 'Ignore' }[] {
  const { namespace } = object.metadata;
  const metadata = { name: standInName, ...(namespace === undefined ? {} : { namespace }) };
  return [
    { object, fieldValidation: 'Strict' },
    { object, fieldValidation: 'Ignore' },
    { object: { ...object, metadata }, fieldValidation: 'Ignore' },
  ];
}

function duplicateNames(objects: readonly DeclaredObject[]): DeclarationMistake[] {
  const first = new Map<string, DeclaredObject>();
  return objects
    .filter(({ isUnnamed }) => !isUnnamed)
    .flatMap((declared) => {
      const { namespace = '', name = '' } = declared.object.metadata;
      const key = JSON.stringify([declared.gvk.group, declared.gvk.kind, namespace, name]);
      const other = first.get(key);
      if (other === undefined) first.set(key, declared);
      return other === undefined
        ? []
        : [
            mistakeAt(
              declared,
              `there is a ${declared.gvk.kind} "${name}" in ${nameOf(other)} already`,
              'metadata.name',
            ),
          ];
    });
}

/**
 * Returns a mistake for each value of a unique index that an earlier declared object has, too. The server cannot find
 * two such objects in a dry run, because it stores neither of them.
 */
function duplicateValues(
  { declared, model }: DeclaredOfKind,
  created: ApiObject,
  claims: Map<string, DeclaredObject>,
): readonly DeclarationMistake[] {
  const values = model.indexes
    .filter(({ unique }) => unique)
    .flatMap(({ name, indexFunc }) => indexFunc.valuesOf(created).map((value) => ({ name, value })));
  return values.flatMap(({ name, value }) => {
    const key = JSON.stringify([model.group, model.kind, name, value]);
    const other = claims.get(key);
    if (other === undefined) claims.set(key, declared);
    return other === undefined
      ? []
      : [mistakeAt(declared, `${nameOf(other)} has the same value, and the value must be unique`, name)];
  });
}

function nameOf({ file, document, lineOf }: DeclaredObject): string {
  return `${file}, document ${document}, line ${lineOf('metadata.name')},`;
}
