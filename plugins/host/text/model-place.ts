import { declarationStackOf } from '@homeostat/controller-runtime/api';
import type { Model } from '@homeostat/controller-runtime/api';
import { placeInFolder } from './error-stack.ts';

/**
 * Adds to an error the line that declares a model: `model Order: … (index.ts:7)`. An error from the registration of
 * models needs this line, because the stack of the error has only lines of the host. Returns any other error unchanged.
 */
export function withModelPlace(error: unknown, models: readonly Model[], folder: string | undefined): unknown {
  if (!(error instanceof Error) || folder === undefined || placeInFolder(error, folder) !== undefined) return error;
  const model = models.find((each) => error.message.startsWith(`model ${nameOf(each)}: `));
  const stack = model === undefined ? undefined : declarationStackOf(model);
  const place = stack === undefined ? undefined : placeInFolder({ stack }, folder);
  return place === undefined ? error : new Error(`${error.message} (${place})`, { cause: error });
}

/** Returns the name of a model for messages. */
function nameOf(model: Model): string {
  return typeof model === 'function' ? model.name : model.kind;
}
