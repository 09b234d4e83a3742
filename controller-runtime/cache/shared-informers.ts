import { descriptorOf } from '../api/index.ts';
import type { ApiObject, Model } from '../api/index.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import { createInformer } from './list-watch-informer.ts';
import type { ReflectorOptions } from './reflector.ts';

export type InformerParts = Omit<ReflectorOptions<ApiObject>, 'model' | 'selection'>;

/** Makes informers, one for each kind and selection: who asks for the same again gets the same. */
export function shareInformers(
  parts: InformerParts,
): <T extends ApiObject>(model: Model<T>, selection?: InformerOptions) => Informer<T> {
  const informers = new Map<string, Informer<ApiObject>>();
  return <T extends ApiObject>(model: Model<T>, selection: InformerOptions = {}): Informer<T> => {
    const { group, version, plural } = descriptorOf(model);
    const { namespace, labelSelector, fieldSelector } = selection;
    const key = JSON.stringify([group, version, plural, namespace, labelSelector, fieldSelector]);
    const present = informers.get(key);
    // The key names the kind, hence the type.
    if (present !== undefined) return present as Informer<T>;
    const informer = createInformer({ ...parts, model, selection });
    informers.set(key, informer);
    return informer;
  };
}
