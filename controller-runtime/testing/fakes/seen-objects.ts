import type { ApiObject } from '../../api/index.ts';
import type { ClientRequest } from './intercepted-client.ts';

/** The objects in the responses that a client received, each in its last state. */
export class SeenObjects {
  readonly #objects = new Map<string, ApiObject>();

  /** Records the objects of a response, and returns the last one; undefined when the response has no object. */
  note(answer: unknown): ApiObject | undefined {
    const objects = objectsIn(answer);
    for (const object of objects) this.#objects.set(idOf(object), object);
    return objects.at(-1);
  }

  /**
   * Returns the object that a request names, as the client last received it; undefined when the client never received
   * it.
   */
  find({ apiVersion, kind, namespace, name = '' }: ClientRequest): ApiObject | undefined {
    return this.#objects.get(idOf({ apiVersion, kind, metadata: { namespace, name } }));
  }
}

function objectsIn(answer: unknown): readonly ApiObject[] {
  if (typeof answer !== 'object' || answer === null) return [];
  if ('items' in answer && Array.isArray(answer.items)) return answer.items.filter(isObject);
  return isObject(answer) ? [answer] : [];
}

function isObject(value: unknown): value is ApiObject {
  return typeof value === 'object' && value !== null && 'kind' in value && 'metadata' in value;
}

interface Identified {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string };
}

function idOf({ apiVersion, kind, metadata: { namespace = '', name } }: Identified): string {
  return `${apiVersion} ${kind} ${namespace}/${name}`;
}
