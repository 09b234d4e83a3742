import type { ApiObject } from '../api/index.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import { createBackedInformer } from './backed-informer.ts';
import { ListWatchBacking } from './list-watch-backing.ts';
import type { ReflectorOptions } from './reflector.ts';

export interface ListWatchOptions<T extends ApiObject> extends Omit<ReflectorOptions<T>, 'selection'> {
  readonly selection: InformerOptions<T>;
  /** Is told when it begins to follow the server, and when it has ended. */
  readonly onFollowing?: (isFollowing: boolean) => void;
}

/** An informer over any client's list and watch, with a copy of the objects of its own. */
export function createInformer<T extends ApiObject>(options: ListWatchOptions<T>): Informer<T> {
  const { model, selection, clock, logger, onFollowing } = options;
  const { namespaces, labelSelector, fieldSelector } = selection;
  const selectors = {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  const reflector = { ...options, selection: selectors };
  return createBackedInformer({
    model,
    selection,
    clock,
    logger,
    back: (shape) => new ListWatchBacking({ reflector, namespaces, shape, onFollowing }),
  });
}
