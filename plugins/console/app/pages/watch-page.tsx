import { useRef, useState } from 'preact/hooks';
import { isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { formatCount, shortText } from '../base/shown-text.ts';
import { browserClock } from '../base/time.ts';
import { keyOf, pathOf } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import type { WatchState } from '../api/watch-client.ts';
import { Age, Badge, Empty, Failure, PageHead } from '../parts/basics.tsx';
import { useFollow } from '../state/follow-kind.ts';
import { findKind, listedKinds } from '../state/kinds.ts';
import { route, setQuery } from '../state/route.ts';
import { may } from '../state/session.ts';

interface Line {
  readonly id: number;
  readonly type: string;
  readonly time: string;
  readonly object: JsonObject;
}

/** The maximum number of lines. Older lines are dropped, so that a page that stays open does not fill the memory. */
const keptLines = 500;

/** The page that shows the watch events of a kind as the server sends them. */
export function WatchPage() {
  const key = route.value.query.get('kind') ?? '';
  const resource = findKind(key);
  const kinds = listedKinds.value.filter((kind) => kind.verbs.includes('watch') && may('watch', kind));
  return (
    <div class="page">
      <PageHead title="Watch">
        <label class="filter filter-wide">
          <span class="visually-hidden">Kind</span>
          <select value={key} onChange={(event) => setQuery({ kind: event.currentTarget.value })}>
            <option value="">Choose a kind</option>
            {kinds.map((kind) => (
              <option key={keyOf(kind)} value={keyOf(kind)}>
                {kind.kind} {kind.group === '' ? '' : `(${kind.group})`}
              </option>
            ))}
          </select>
        </label>
      </PageHead>
      {resource === undefined ? (
        <Empty title="Choose a kind to follow">
          Each change appears here as the server sends it, with its revision.
        </Empty>
      ) : (
        <Stream key={key} resource={resource} />
      )}
    </div>
  );
}

function Stream({ resource }: { readonly resource: Resource }) {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [state, setState] = useState<WatchState>({ kind: 'listing' });
  const [isPaused, setPaused] = useState(false);
  const count = useRef(0);
  const paused = useRef(false);
  paused.current = isPaused;
  const add = (events: readonly (readonly [type: string, object: JsonObject])[]): void => {
    const time = new Date(browserClock.now()).toISOString();
    const added = events.map(([type, object]) => ({ id: (count.current += 1), type, time, object }));
    if (!paused.current) setLines((old) => [...added.reverse(), ...old].slice(0, keptLines));
  };
  useFollow(keyOf(resource), {
    path: pathOf(resource),
    listQuery: { limit: 1 },
    onList: (list, isAgain) => add([[isAgain ? 'LISTED AGAIN' : 'LISTED', list]]),
    onChanges: (changes) => add(changes.map(({ type, object }) => [type, object] as const)),
    onState: setState,
  });
  return (
    <>
      <div class="line stream-head">
        <Badge tone={state.kind === 'live' ? 'good' : 'busy'}>{state.kind}</Badge>
        <code>GET {pathOf(resource)}?watch=true</code>
        <span class="muted">
          {formatCount(count.current)} {count.current === 1 ? 'event' : 'events'}
        </span>
        <button type="button" class="button" onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </button>
        <button type="button" class="button" onClick={() => setLines([])}>
          Clear
        </button>
      </div>
      {state.kind === 'refused' ? <Failure failure={state.failure} /> : null}
      {state.kind === 'live' && lines.every(({ type }) => type.startsWith('LISTED')) ? (
        <p class="muted" role="status">
          Nothing has changed since the list was read. Each change of an object appears here.
        </p>
      ) : null}
      <ol class="stream">
        {lines.map((line) => (
          <StreamLine key={line.id} line={line} />
        ))}
      </ol>
    </>
  );
}

const tones: Readonly<Record<string, 'good' | 'busy' | 'bad'>> = { ADDED: 'good', MODIFIED: 'busy', DELETED: 'bad' };

function StreamLine({ line: { type, time, object } }: { readonly line: Line }) {
  const [isOpen, setOpen] = useState(false);
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const name = [textOf(metadata.namespace), textOf(metadata.name)].filter((each) => each !== '').join('/');
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Badge tone={tones[type] ?? 'quiet'}>{type}</Badge>
          <bdi class="grow">{shortText(name, 200)}</bdi>
          <code class="muted">{textOf(metadata.resourceVersion)}</code>
          <span class="muted">
            <Age time={time} />
          </span>
        </summary>
        {isOpen ? <pre class="stack-trace">{shortText(JSON.stringify(object, null, 2), 20_000)}</pre> : null}
      </details>
    </li>
  );
}
