import type { ApiObject } from '../api/index.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import { createBackedInformer } from './backed-informer.ts';
import { ListWatchBacking } from './list-watch-backing.ts';
import type { ObjectShape } from './object-shape.ts';
import type { ReflectorParts } from './reflector.ts';

export interface ListWatchOptions<T extends ApiObject> extends Omit<ReflectorParts<T>, 'selection'> {
  readonly selection: InformerOptions<T>;
}

/** An informer over any client's list and watch, with its own copy of the objects. */
export function createInformer<T extends ApiObject>(options: ListWatchOptions<T>): Informer<T> {
  return createBackedInformer({ ...options, back: (shape) => createListWatchBacking(options, shape) });
}

/** A copy of the selected objects, kept up to date by list and watch. */
export function createListWatchBacking<T extends ApiObject>(
  options: ListWatchOptions<T>,
  shape: ObjectShape<T>,
): ListWatchBacking<T> {
  const { namespaces, labelSelector, fieldSelector } = options.selection;
  const selection = {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  return new ListWatchBacking({ reflector: { ...options, selection }, namespaces, shape });
}
