import type { ApiObject } from '../object/object.ts';

/**
 * The annotation that pauses the reconciling of an object: `true` for all controllers, or names of controllers, separated by
 * commas.
 */
export const pausedAnnotation = 'controllers.homeostat.internal/paused';

/**
 * The annotation that reconciles an object at once when its value changes; the value may be anything, such as the time.
 */
export const reconcileAnnotation = 'controllers.homeostat.internal/reconcile-requested-at';

/** True when an object asks this controller not to reconcile it. `controller` is its name alone, without the plugin. */
export function isPaused({ metadata }: ApiObject, controller: string): boolean {
  const value = metadata.annotations?.[pausedAnnotation];
  if (value === undefined || value === '' || value === 'false') return false;
  return value === 'true' || value.split(',').some((each) => nameIn(each.trim()) === controller);
}

/** Returns the action that changed annotations ask for: `requested`, `paused` or `resumed`. */
export function actionBetween(previous: ApiObject, object: ApiObject): 'requested' | 'paused' | 'resumed' | undefined {
  const [before, after] = [previous.metadata.annotations, object.metadata.annotations];
  if (before === after || (before === undefined && after === undefined)) return undefined;
  const request = after?.[reconcileAnnotation];
  if (request !== undefined && request !== before?.[reconcileAnnotation]) return 'requested';
  const paused = after?.[pausedAnnotation];
  if (paused === before?.[pausedAnnotation]) return undefined;
  return paused === undefined || paused === 'false' || paused === '' ? 'resumed' : 'paused';
}

/** A value may also have the form `<plugin>/<controller>`. */
function nameIn(value: string): string {
  return value.slice(value.lastIndexOf('/') + 1);
}
