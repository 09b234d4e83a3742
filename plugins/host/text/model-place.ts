import { declarationStackOf } from '@homeostat/controller-runtime/api';
import type { Model } from '@homeostat/controller-runtime/api';
import { placeInFolder } from './error-stack.ts';

/**
 * An error from the registration of a plugin's models. Its stack shows only the host, so the line that declares the
 * model is added to the message: `model Order: … (index.ts:7)`. Any other error is returned unchanged.
 */
export function withModelPlace(error: unknown, models: readonly Model[], folder: string | undefined): unknown {
  if (!(error instanceof Error) || folder === undefined || placeInFolder(error, folder) !== undefined) return error;
  const model = models.find((each) => error.message.startsWith(`model ${nameOf(each)}: `));
  const stack = model === undefined ? undefined : declarationStackOf(model);
  const place = stack === undefined ? undefined : placeInFolder({ stack }, folder);
  return place === undefined ? error : new Error(`${error.message} (${place})`, { cause: error });
}

/** The name of a model in messages. */
function nameOf(model: Model): string {
  return typeof model === 'function' ? model.name : model.kind;
}
