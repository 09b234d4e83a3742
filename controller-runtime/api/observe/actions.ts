import type { ApiObject } from '../object/object.ts';

/**
 * The annotation that pauses the reconciling of an object. Its value is `true` for all controllers, or the names of
 * controllers, separated by commas.
 */
export const pausedAnnotation = 'controllers.homeostat.internal/paused';

/**
 * The annotation that requests an immediate reconcile: a change of its value enqueues the object. The value may be any
 * text, such as the time.
 */
export const reconcileAnnotation = 'controllers.homeostat.internal/reconcile-requested-at';

/**
 * True when the annotation of an object pauses this controller. `controller` is the name of the controller without the
 * plugin.
 */
export function isPaused({ metadata }: ApiObject, controller: string): boolean {
  const value = metadata.annotations?.[pausedAnnotation];
  if (value === undefined || value === '' || value === 'false') return false;
  return value === 'true' || value.split(',').some((each) => nameIn(each.trim()) === controller);
}

/**
 * Compares the annotations {@link reconcileAnnotation} and {@link pausedAnnotation} of an object before and after a
 * write. Returns the action that the change requests: `requested` for an immediate reconcile, `paused` or `resumed`;
 * undefined when it requests no action.
 */
export function actionBetween(previous: ApiObject, object: ApiObject): 'requested' | 'paused' | 'resumed' | undefined {
  const [before, after] = [previous.metadata.annotations, object.metadata.annotations];
  if (before === after || (before === undefined && after === undefined)) return undefined;
  const request = after?.[reconcileAnnotation];
  if (request !== undefined && request !== before?.[reconcileAnnotation]) return 'requested';
  const paused = after?.[pausedAnnotation];
  if (paused === before?.[pausedAnnotation]) return undefined;
  return paused === undefined || paused === 'false' || paused === '' ? 'resumed' : 'paused';
}

/** Returns the name of the controller in a text `<controller>` or `<plugin>/<controller>`. */
function nameIn(value: string): string {
  return value.slice(value.lastIndexOf('/') + 1);
}
