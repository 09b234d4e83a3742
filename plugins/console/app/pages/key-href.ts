import { keyOf } from '../api/resources.ts';
import type { ControllerInfo } from '../state/controllers.ts';
import { kindOfObject } from '../state/kinds.ts';
import { objectHref } from '../state/route.ts';

/** Returns the link to the runs of an object, whose key is `name` or `namespace/name`. */
export function hrefOfKey({ apiVersion, kind }: ControllerInfo, key: string): string {
  const resource = kindOfObject(apiVersion, kind);
  const at = key.indexOf('/');
  if (resource === undefined) return '#/controllers';
  return objectHref(keyOf(resource), at < 0 ? '' : key.slice(0, at), key.slice(at + 1), 'runs');
}
