import { useState } from 'preact/hooks';
import { isApiObject } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { pathOf } from '../../api/resources.ts';
import type { WatchState } from '../../api/watch-client.ts';
import type { Place } from '../../state/place.ts';
import { useFollow } from '../../state/follow-kind.ts';
import { objectsOf } from '../../state/plugins.ts';
import { api } from '../../state/session.ts';

export interface LiveObject {
  /** The last known state of the object; undefined until the object has been read once. */
  readonly object: ApiObject | undefined;
  readonly isGone: boolean;
  /** True if the user may get the object, but may not watch it, so the page shows no later changes. */
  readonly isFixed: boolean;
  readonly state: WatchState;
}

const nothing: LiveObject = { object: undefined, isGone: false, isFixed: false, state: { kind: 'listing' } };

/** Returns the state of one object, and renders the component again after each change. */
export function useObject({ resource, namespace, name }: Place): LiveObject {
  const [live, setLive] = useState(nothing);
  const path = pathOf(resource, namespace);
  const readOnce = async (): Promise<void> => {
    const object = await api.get(pathOf(resource, namespace, name)).catch(() => undefined);
    if (isApiObject(object)) setLive((old) => ({ ...old, object, isGone: false, isFixed: true }));
  };
  useFollow(`${path} ${name}`, {
    path,
    query: { fieldSelector: `metadata.name=${name}` },
    onList: (list) => {
      const [object] = objectsOf(list);
      setLive((old) => ({ ...old, object: object ?? old.object, isGone: object === undefined }));
    },
    onChanges: (changes) =>
      setLive((old) => {
        const last = changes.findLast(({ type }) => type !== 'BOOKMARK');
        if (last === undefined || !isApiObject(last.object)) return old;
        return { ...old, object: last.object, isGone: last.type === 'DELETED' };
      }),
    onState: (state) => {
      setLive((old) => ({ ...old, state, isFixed: false }));
      if (state.kind === 'refused' && state.failure.status === 403) void readOnce();
    },
  });
  return live;
}
