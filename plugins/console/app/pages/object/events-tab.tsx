import { useState } from 'preact/hooks';
import { isObject, textOf } from '../../base/json.ts';
import { isApiObject, uidOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { keyOf } from '../../api/resources.ts';
import type { WatchState } from '../../api/watch-client.ts';
import { Age, Badge, Empty, Failure, Text } from '../../parts/basics.tsx';
import { useFollow } from '../../state/follow-kind.ts';
import { objectsOf } from '../../state/plugins.ts';
import { objectHref } from '../../state/route.ts';
import type { Place } from '../../state/place.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

/** The tab with the events that controllers have reported about the object. */
export function EventsTab({ object, place }: Props) {
  const [events, setEvents] = useState<ReadonlyMap<string, ApiObject>>();
  const [state, setState] = useState<WatchState>({ kind: 'listing' });
  const uid = uidOf(object);
  useFollow(`events ${uid}`, {
    path: '/api/v1/events',
    query: { fieldSelector: `involvedObject.name=${place.name},involvedObject.uid=${uid}` },
    listQuery: { limit: 500 },
    onList: (list) => setEvents(new Map(objectsOf(list).map((each) => [uidOf(each), each]))),
    onChanges: (changes) =>
      setEvents((old) => {
        const found = new Map(old);
        for (const { type, object: event } of changes) {
          if (!isApiObject(event) || type === 'BOOKMARK') continue;
          if (type === 'DELETED') found.delete(uidOf(event));
          else found.set(uidOf(event), event);
        }
        return found;
      }),
    onState: setState,
  });
  if (state.kind === 'refused') return <Failure failure={state.failure} />;
  if (events === undefined) return null;
  const sorted = [...events.values()].sort((a, b) => lastTime(b).localeCompare(lastTime(a)));
  if (sorted.length === 0)
    return (
      <Empty title="No controller has reported anything">
        <p>
          {' '}
          By default, the server deletes an event an hour after it last occurred.{' '}
          <a href={objectHref(keyOf(place.resource), place.namespace, place.name, 'runs')}>The runs</a> say what
          controllers did.
        </p>{' '}
      </Empty>
    );
  return (
    <ul class="rows-list card">
      {sorted.map((event) => (
        <li key={uidOf(event)}>
          <Badge tone={event.type === 'Warning' ? 'bad' : 'quiet'}>{textOf(event.reason)}</Badge>
          <span class="grow">
            <Text value={textOf(event.message)} length={600} />
          </span>
          {typeof event.count === 'number' && event.count > 1 ? <span class="muted">{event.count} times</span> : null}
          <span class="muted">{sourceOf(event)}</span>
          <span class="muted">
            <Age time={lastTime(event)} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function lastTime({ lastTimestamp, eventTime, metadata }: ApiObject): string {
  return textOf(lastTimestamp) || textOf(eventTime) || textOf(metadata.creationTimestamp);
}

function sourceOf({ source, reportingComponent }: ApiObject): string {
  return textOf(reportingComponent) || (isObject(source) ? textOf(source.component) : '');
}
