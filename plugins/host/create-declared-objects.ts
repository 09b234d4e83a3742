import { isAlreadyExists } from '@homeostat/controller-runtime/api';
import { checkDeclaredObjects, mistakesOf } from './check-declared-objects.ts';
import type { AbsentObject, CheckDeclaredOptions } from './check-declared-objects.ts';
import { declarationError } from './declaration-mistake.ts';
import { isDeclaredObject } from './declared-object.ts';
import type { Declaration } from './declared-object.ts';

export interface CreateDeclaredOptions extends CheckDeclaredOptions {
  /** Stands in the objects' managedFields. */
  readonly fieldManager: string;
}

/**
 * Creates the objects that are not there yet; those that are stay as they are (spec 2.9). When anything is wrong with
 * any of them, none is created, and it rejects with every mistake: file, document, line and field.
 */
export async function createDeclaredObjects(
  declarations: readonly Declaration[],
  options: CreateDeclaredOptions,
): Promise<void> {
  const { absent, mistakes } = await checkDeclaredObjects(declarations.filter(isDeclaredObject), options);
  const all = [...declarations.flatMap((each) => (isDeclaredObject(each) ? [] : [each])), ...mistakes];
  if (all.length > 0) throw declarationError(all);
  for (const each of absent) await create(each, options);
}

async function create({ declared, model }: AbsentObject, options: CreateDeclaredOptions): Promise<void> {
  const { client, fieldManager, signal } = options;
  signal.throwIfAborted();
  try {
    await client.create(model, declared.object, { fieldManager, fieldValidation: 'Strict', signal });
  } catch (error) {
    // Somebody else created it meanwhile, and then it is there.
    if (!isAlreadyExists(error)) throw declarationError(mistakesOf(declared, error));
  }
}
