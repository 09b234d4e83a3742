import { formatKey, keyOf } from '../api/index.ts';
import type { ApiObject, Clock, Logger, Model } from '../api/index.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import type { Client } from '../client/client.ts';
import type { ControllerDefinition } from '../controller/controller-definition.ts';
import { createManager } from '../manager/manager.ts';
import type { Manager } from '../manager/manager.ts';
import { settle } from './settle.ts';
import type { Participant, SettleOptions } from './settle.ts';

export type TestKitOptions = ({ readonly client: Client } | { readonly server: { readonly client: Client } }) & {
  readonly controllers?: readonly ControllerDefinition[];
  /** Default the real time; a FakeClock makes back-off and `after` the test's decision. */
  readonly clock?: Clock;
  /** Default silent. */
  readonly logger?: Logger;
  /** What else may be busy: the server's garbage collection, say. Default none. */
  readonly participants?: readonly Participant[];
};

export interface TestKit {
  readonly client: Client;
  /** Runs the controllers, from the kit's creation until {@link stop}. */
  readonly manager: Manager;
  /**
   * Resolves when all queues are empty, nothing is in flight, and the controllers have seen all that the server has.
   * Keys that wait for their time do not count. Rejects after the time-out (default 5000 ms of real time) with what is
   * still busy.
   */
  settle(options?: SettleOptions): Promise<void>;
  /** Stops the controllers; resolves when all of it has stopped. The client and its server stay as they are. */
  stop(): Promise<void>;
}

/** Runs controllers against a server that is there, for tests that wait until there is nothing left to do. */
export function createTestKit(options: TestKitOptions): TestKit {
  const { controllers = [], clock, logger, participants = [] } = options;
  const client = 'client' in options ? options.client : options.server.client;
  const followed: FollowedKind[] = [];
  const manager = createManager({
    client: trackInformers(client, followed),
    controllers,
    ...(clock === undefined ? {} : { clock }),
    ...(logger === undefined ? {} : { logger }),
  });
  const stop = new AbortController();
  const stopped = manager.run(stop.signal);
  const managed: Participant = {
    name: 'controllers',
    isIdle: () => manager.isIdle(),
    hasCaughtUp: () => haveCaughtUp(client, followed),
  };
  return {
    client,
    manager,
    settle: (settleOptions) => settle([managed, ...participants], settleOptions),
    stop: async () => {
      stop.abort();
      await stopped;
    },
  };
}

interface FollowedKind {
  readonly informer: Informer<ApiObject>;
  readonly model: Model;
  readonly selection: InformerOptions;
}

/** The client, but for that it notes which informers are asked for. */
function trackInformers(client: Client, followed: FollowedKind[]): Client {
  const informer = <T extends ApiObject>(model: Model<T>, selection: InformerOptions<T> = {}): Informer<T> => {
    const made = client.informer(model, selection);
    followed.push({ informer: made, model, selection });
    return made;
  };
  return new Proxy(client, {
    get: (target, name) => {
      if (name === 'informer') return informer;
      const value: unknown = Reflect.get(target, name, target);
      // Private fields are the target's: a method must not be called on the proxy.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** By content, not by revision: that of an informer over HTTP moves only with changes of its own kind. */
async function haveCaughtUp(client: Client, followed: readonly FollowedKind[]): Promise<boolean> {
  for (const { informer, model, selection } of followed) {
    const { namespaces, transform: _transform, metadataOnly: _metadataOnly, ...selectors } = selection;
    const listed = await client.list(model, selectors);
    const items = listed.items.filter(
      ({ metadata }) => namespaces === undefined || namespaces.includes(metadata.namespace ?? ''),
    );
    const cached = new Map(
      informer.list().map((object) => [formatKey(keyOf(object)), object.metadata.resourceVersion]),
    );
    const same = items.every((item) => cached.get(formatKey(keyOf(item))) === item.metadata.resourceVersion);
    if (!same || cached.size !== items.length) return false;
  }
  return true;
}
