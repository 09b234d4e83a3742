import type { ApiObject, Clock } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { systemClock } from '../../clock/system-clock.ts';
import { InterceptedClient } from './intercepted-client.ts';
import type { ClientRequest, Interceptor } from './intercepted-client.ts';
import { SeenObjects } from './seen-objects.ts';

/** A write of a run. */
export interface RecordedWrite {
  readonly request: ClientRequest;
  /** The object before the write, as the client last received it; undefined when the client never received it. */
  readonly before: ApiObject | undefined;
  /** The object after the write; undefined until the response arrives, and for an object that is gone. */
  after: ApiObject | undefined;
}

/**
 * Passes all requests on, and records the writes of runs. Event objects are not recorded, because the event recorder
 * writes them outside of runs.
 */
export class WriteRecorder implements Interceptor {
  readonly client: Client;
  readonly writes: RecordedWrite[] = [];
  readonly #seen = new SeenObjects();

  constructor(client: Client, clock: Clock = systemClock) {
    this.client = new InterceptedClient({ client, interceptor: this, clock, random: () => 0.5 });
  }

  async request<R>(request: ClientRequest, send: () => Promise<R>): Promise<R> {
    const isOfRun = request.isWrite && request.reconcileID !== undefined;
    const write: RecordedWrite = { request, before: this.#seen.find(request), after: undefined };
    if (isOfRun) this.writes.push(write);
    const answer = await send();
    write.after = this.#seen.note(answer);
    return answer;
  }

  watch: Interceptor['watch'] = (_request, open, signal) => open(signal ?? new AbortController().signal);
}
