import { descriptorOf } from '../api/index.ts';
import type { ApiObject, Model } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import { createInformer } from './list-watch-informer.ts';
import type { ReflectorOptions } from './reflector.ts';

export interface InformerParts extends Omit<ReflectorOptions<ApiObject>, 'model' | 'selection'> {
  /** Lists and watches metadata alone. */
  readonly metadataClient: Pick<Client, 'list' | 'watch'>;
}

/**
 * Makes informers, one for each kind and selection: who asks for the same again gets the same, until the last who ran it
 * has stopped.
 */
export function shareInformers({ metadataClient, ...parts }: InformerParts): Client['informer'] {
  const informers = new Map<string, Informer<ApiObject>>();
  const transforms = new Numbers();
  const informerOf = <T extends ApiObject>(model: Model<T>, selection: InformerOptions<T> = {}): Informer<T> => {
    const { group, version, plural } = descriptorOf(model);
    const { namespaces, labelSelector, fieldSelector, metadataOnly = false, transform } = selection;
    const transformed = transform === undefined ? undefined : transforms.of(transform);
    const options = [[...(namespaces ?? [])].sort(), labelSelector, fieldSelector, metadataOnly, transformed];
    const key = JSON.stringify([group, version, plural, ...options]);
    const present = informers.get(key);
    // The key names the kind, hence the type.
    if (present !== undefined) return present as Informer<T>;
    const client = metadataOnly ? metadataClient : parts.client;
    const onFollowing = (isFollowing: boolean): void => {
      if (!isFollowing && informers.get(key) === informer) informers.delete(key);
      if (isFollowing && !informers.has(key)) informers.set(key, informer);
    };
    const informer: Informer<T> = createInformer({ ...parts, client, model, selection, onFollowing });
    informers.set(key, informer);
    return informer;
  };
  return informerOf;
}

/** A number for each function, which keeps none of them alive. */
class Numbers {
  readonly #numbers = new WeakMap<object, number>();
  #last = 0;

  of(value: object): number {
    const number = this.#numbers.get(value) ?? (this.#last += 1);
    this.#numbers.set(value, number);
    return number;
  }
}
