import type { ApiObject, Clock } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { systemClock } from '../../clock/system-clock.ts';
import { InterceptedClient } from './intercepted-client.ts';
import type { ClientRequest, Interceptor } from './intercepted-client.ts';

/** A write of a run. */
export interface RecordedWrite {
  readonly request: ClientRequest;
  /** The object as the client last received it; undefined when it never did. */
  readonly before: ApiObject | undefined;
  /** Undefined until the response comes, and for an object that is gone. */
  after: ApiObject | undefined;
}

/** Carries all requests out, and records the writes of runs. Events for people are none: their recorder writes them. */
export class WriteRecorder implements Interceptor {
  readonly client: Client;
  readonly writes: RecordedWrite[] = [];
  /** The objects of all responses, by kind and key. */
  readonly #seen = new Map<string, ApiObject>();

  constructor(client: Client, clock: Clock = systemClock) {
    this.client = new InterceptedClient({ client, interceptor: this, clock, random: () => 0.5 });
  }

  async request<R>(request: ClientRequest, send: () => Promise<R>): Promise<R> {
    const isOfRun = request.isWrite && request.reconcileID !== undefined;
    const { apiVersion, kind, namespace, name = '' } = request;
    const before = this.#seen.get(idOf({ apiVersion, kind, metadata: { namespace, name } }));
    const write: RecordedWrite = { request, before, after: undefined };
    if (isOfRun) this.writes.push(write);
    const answer = await send();
    for (const object of objectsIn(answer)) {
      this.#seen.set(idOf(object), object);
      write.after = object;
    }
    return answer;
  }

  watch: Interceptor['watch'] = (_request, open, signal) => open(signal ?? new AbortController().signal);
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
