import type { ApiObject, Clock, Logger, Model } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import { createBackedInformer } from './backed-informer.ts';
import type { InformerBacking } from './backed-informer.ts';
import { ListWatchBacking } from './list-watch-backing.ts';
import type { ObjectShape } from './object-shape.ts';

/** The parts of an informer that follows a kind by list and watch. */
export interface ListWatchOptions<T extends ApiObject> {
  readonly client: Pick<Client, 'list' | 'watch'>;
  readonly model: Model<T>;
  /** The options that select the objects to follow. */
  readonly selection: InformerOptions<T>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number in [0, 1). It varies the delay before each new attempt. */
  readonly random: () => number;
}

/** Makes an informer that uses the list and the watch of any client, and keeps its own copy of the objects. */
export function createInformer<T extends ApiObject>(options: ListWatchOptions<T>): Informer<T> {
  return createBackedInformer({ ...options, back: (shape) => createListWatchBacking(options, shape) });
}

/** Makes a copy of the selected objects that is kept up to date by list and watch. */
export function createListWatchBacking<T extends ApiObject>(
  options: ListWatchOptions<T>,
  shape: ObjectShape<T>,
): InformerBacking<T> {
  const { namespaces, labelSelector, fieldSelector } = options.selection;
  const selection = {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  return new ListWatchBacking({ reflector: { ...options, selection }, namespaces, shape });
}
