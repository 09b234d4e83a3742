import type { Client } from '@homeostat/controller-runtime';
import { apiVersionOf, isAlreadyExists, isApiError, isNotFound } from '@homeostat/controller-runtime/api';
import type { GroupVersionKind, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { DeclaredObject } from './declared-objects.ts';
import { errorText } from './error-text.ts';

export interface CreateDeclaredOptions {
  readonly client: Client;
  /** The kind's model, when it is registered. */
  readonly lookup: (gvk: GroupVersionKind) => ModelDescriptor | undefined;
  /** Stands in the objects' managedFields. */
  readonly fieldManager: string;
  readonly signal: AbortSignal;
}

/**
 * Creates the objects that are not there yet; those that are stay as they are (spec 2.9). Rejects with every object
 * that could not be created: file, document, line and field.
 */
export async function createDeclaredObjects(
  objects: readonly DeclaredObject[],
  options: CreateDeclaredOptions,
): Promise<void> {
  const problems: string[] = [];
  for (const declared of objects) {
    options.signal.throwIfAborted();
    try {
      await createWhenAbsent(declared, options);
    } catch (error) {
      problems.push(...problemsOf(error).map((problem) => `${declared.place}: ${problem}`));
    }
  }
  if (problems.length > 0) throw new Error(problems.join('; '));
}

async function createWhenAbsent({ gvk, object }: DeclaredObject, options: CreateDeclaredOptions): Promise<void> {
  const { client, fieldManager, signal } = options;
  const model = options.lookup(gvk);
  if (model === undefined) throw new Error(`kind: ${apiVersionOf(gvk)} ${gvk.kind} is not registered`);
  const { name = '', namespace } = object.metadata;
  try {
    await client.get(model, name, { signal, ...(namespace === undefined ? {} : { namespace }) });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(model, object, { fieldManager, fieldValidation: 'Strict', signal }).catch(ignoreLostRace);
  }
}

/** Somebody else created it meanwhile, and then it is there. */
function ignoreLostRace(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}

function problemsOf(error: unknown): readonly string[] {
  if (!isApiError(error) || error.causes.length === 0) return [errorText(error)];
  return error.causes.map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`));
}
