import { descriptorOf } from '../api/index.ts';
import type { ApiObject, Model } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import { createBackedInformer } from './backed-informer.ts';
import { createListWatchBacking } from './list-watch-informer.ts';
import type { ReflectorParts } from './reflector.ts';
import { SharedBacking, SharedCaches } from './shared-cache.ts';

export interface InformerParts extends Omit<ReflectorParts<ApiObject>, 'model' | 'selection'> {
  /** A client that lists and watches only metadata. */
  readonly metadataClient: Pick<Client, 'list' | 'watch'>;
}

/**
 * Makes informers, each with handlers and indexes of its own. Informers of the same kind and with the same options
 * share a cache while they run. The cache uses one list and one watch; if the option `namespaces` is set, it uses one
 * list and one watch per namespace.
 */
export function shareInformers({ metadataClient, ...parts }: InformerParts): Client['informer'] {
  const caches = new SharedCaches();
  const transforms = new Numbers();
  const informerOf = <T extends ApiObject>(model: Model<T>, selection: InformerOptions<T> = {}): Informer<T> => {
    const { group, version, plural } = descriptorOf(model);
    const { namespaces, labelSelector, fieldSelector, metadataOnly = false, transform } = selection;
    const transformed = transform === undefined ? undefined : transforms.of(transform);
    const selected = [[...(namespaces ?? [])].sort(), labelSelector, fieldSelector, metadataOnly, transformed];
    const key = JSON.stringify([group, version, plural, ...selected]);
    const options = { ...parts, client: metadataOnly ? metadataClient : parts.client, model, selection };
    return createBackedInformer({
      ...options,
      back: (shape) => new SharedBacking({ caches, key, make: () => createListWatchBacking<T>(options, shape) }),
    });
  };
  return informerOf;
}

/** Assigns a number to each function, without keeping the function alive. */
class Numbers {
  readonly #numbers = new WeakMap<object, number>();
  #last = 0;

  of(value: object): number {
    const number = this.#numbers.get(value) ?? (this.#last += 1);
    this.#numbers.set(value, number);
    return number;
  }
}
