import { formatKey, keyOf } from '../../api/index.ts';
import type { ApiObject, Model } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { Informer, InformerHandler, InformerOptions } from '../../client/informer.ts';

interface FollowedKind {
  readonly informer: Informer<ApiObject>;
  readonly model: Model;
  readonly selection: InformerOptions;
}

/** Tracks the informers of controllers, and checks whether their caches are up to date. */
export class FollowedKinds {
  /** The running informers. */
  readonly #followed = new Set<FollowedKind>();

  /**
   * Returns a client that calls the given client. While one of its informers runs, {@link haveCaughtUp} checks the
   * cache of this informer. `wrap` may replace each handler that is added to an informer.
   */
  tracking(
    client: Client,
    wrap: (handler: InformerHandler<ApiObject>) => InformerHandler<ApiObject> = (handler) => handler,
  ): Client {
    const informer = <T extends ApiObject>(model: Model<T>, selection: InformerOptions<T> = {}): Informer<T> => {
      const made = client.informer(model, selection);
      const followed = { informer: made, model, selection };
      const run: Informer<T>['run'] = async (signal) => {
        this.#followed.add(followed);
        await made.run(signal);
        this.#followed.delete(followed);
      };
      const addHandler: Informer<T>['addHandler'] = (handler, options) => made.addHandler(wrap(handler), options);
      return replacing(made, { addHandler, run });
    };
    return replacing(client, { informer });
  }

  /**
   * True when all caches have the objects that the server has. Compares objects, not the revision of the caches: over
   * HTTP, the revision of an informer advances only with changes of its own kind.
   */
  async haveCaughtUp(client: Pick<Client, 'list'>): Promise<boolean> {
    for (const { informer, model, selection } of this.#followed) {
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
}

/** Returns the object with some of its methods replaced. */
function replacing<O extends object>(object: O, methods: Partial<O>): O {
  return new Proxy(object, {
    get: (target, name): unknown => {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name, target);
      // The methods are bound to the target, because a proxy has no private fields.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
