import { useState } from 'preact/hooks';
import { isArray, isObject, numberOf, textOf } from '../../base/json.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { entriesOf, isApiObject, nameOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { formatCount, shortText } from '../../base/shown-text.ts';
import { formatDuration } from '../../base/time.ts';
import { browserClock } from '../../base/time.ts';
import { toFailure } from '../../api/failure.ts';
import { groupOf, pathOf } from '../../api/resources.ts';
import type { WatchState } from '../../api/watch-client.ts';
import { Age, Badge, Due, Empty, Failure, Text } from '../../parts/basics.tsx';
import { DiffView } from '../../parts/diff-view.tsx';
import { controllerGroup } from '../../state/controllers.ts';
import { useFollow } from '../../state/follow-kind.ts';
import { notify, now } from '../../state/page-state.ts';
import { objectsOf } from '../../state/plugins.ts';
import { api, may } from '../../state/session.ts';
import type { Place } from '../../state/place.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

const pausedKey = `${controllerGroup}/paused`;
const requestKey = `${controllerGroup}/reconcile-requested-at`;
const keptRuns = 200;
/** The maximum number of runs in memory. They may include runs of deleted objects with the same name. */
const mostRuns = 500;

/** The tab that shows, for each reconcile of the object, its reason, duration, result and writes. */
export function RunsTab({ place, object }: Props) {
  const [runs, setRuns] = useState<ReadonlyMap<string, ApiObject>>();
  const [state, setState] = useState<WatchState>({ kind: 'listing' });
  useFollow(`runs ${place.resource.kind} ${place.namespace} ${place.name}`, {
    path: pathOf({ group: controllerGroup, version: 'v1alpha1', plural: 'runs' }, place.namespace),
    query: { fieldSelector: `object.name=${place.name},object.kind=${place.resource.kind}` },
    listQuery: { limit: keptRuns, sort: 'startTime,desc' },
    onList: (list) =>
      setRuns(
        new Map(
          objectsOf(list)
            .map((each) => [nameOf(each), each] as const)
            .reverse(),
        ),
      ),
    onChanges: (changes) =>
      setRuns((old) => {
        const found = new Map(old);
        for (const { type, object: run } of changes) {
          if (!isApiObject(run) || type === 'BOOKMARK') continue;
          if (type === 'DELETED') found.delete(nameOf(run));
          else found.set(nameOf(run), run);
        }
        // Only the newest runs are kept, because the page may stay open for a long time.
        return new Map([...found].slice(-mostRuns));
      }),
    onState: setState,
  });
  const own = [...(runs?.values() ?? [])].filter((run) => isOf(run, place));
  own.sort((a, b) => textOf(b.startTime).localeCompare(textOf(a.startTime)));
  return (
    <div class="stack">
      <Actions place={place} object={object} />
      {state.kind === 'refused' ? <Failure failure={state.failure} /> : null}
      {runs !== undefined && own.length === 0 ? (
        <Empty title="No controller run is recorded for this object">
          Runs are kept for a while. “Reconcile now” starts one, if a controller follows this kind.
        </Empty>
      ) : null}
      <ol class="runs">
        {own.slice(0, keptRuns).map((run) => (
          <RunItem key={nameOf(run)} run={run} />
        ))}
      </ol>
    </div>
  );
}

function isOf(run: ApiObject, { resource, namespace, name }: Place): boolean {
  const object = isObject(run.object) ? run.object : {};
  const isKind = object.kind === resource.kind && groupOf(textOf(object.apiVersion)) === resource.group;
  return isKind && object.name === name && textOf(object.namespace) === namespace;
}

/** Buttons that set annotations, so that controllers reconcile the object now, or no longer reconcile it. */
function Actions({ place, object }: Props) {
  const { resource, namespace, name } = place;
  if (!may('patch', resource, name)) return null;
  const paused = entriesOf(object.metadata.annotations).find(([key]) => key === pausedKey)?.[1] ?? '';
  const isPaused = paused !== '' && paused !== 'false';
  const annotate = async (annotations: Readonly<Record<string, string | null>>, done: string): Promise<void> => {
    const body = { metadata: { annotations } };
    try {
      const contentType = 'application/merge-patch+json';
      await api.call(pathOf(resource, namespace, name), { method: 'PATCH', contentType, body });
      notify('good', done);
    } catch (error) {
      notify('bad', toFailure(error).message);
    }
  };
  const request = String(browserClock.now());
  return (
    <div class="line">
      <button
        type="button"
        class="button"
        onClick={() => void annotate({ [requestKey]: request }, 'The controllers of the object run now')}
      >
        Reconcile now
      </button>
      <button
        type="button"
        class="button"
        onClick={() => void annotate({ [pausedKey]: isPaused ? null : 'true' }, isPaused ? 'Resumed' : 'Paused')}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      {isPaused ? <Badge tone="busy">paused: {paused === 'true' ? 'all controllers' : paused}</Badge> : null}
    </div>
  );
}

const badResults = new Set(['error', 'terminal', 'timeout']);

function toneOf(result: string): 'good' | 'bad' | 'busy' {
  if (badResults.has(result)) return 'bad';
  return result === 'success' ? 'good' : 'busy';
}

const listOf = (value: Json | undefined): readonly JsonObject[] => (isArray(value) ? value.filter(isObject) : []);

function RunItem({ run }: { readonly run: ApiObject }) {
  const result = textOf(run.result);
  const writes = listOf(run.writes);
  const message = isObject(run.error) ? textOf(run.error.message) : '';
  const changed = writes.filter((each) => each.changed !== false).length;
  return (
    <li class={`run run-${toneOf(result)}`}>
      <details>
        <summary>
          <Badge tone={toneOf(result)}>{result}</Badge>
          <span>{textOf(run.controller)}</span>
          <span class="grow">
            <span class="muted">{listOf(run.triggers).map(triggerText).join(', ')}</span>
            {message === '' ? null : <bdi class="problem run-error">{shortText(message, 160)}</bdi>}
          </span>
          {changed > 0 ? <span>{changed === 1 ? '1 write' : `${changed} writes`}</span> : null}
          <span class="muted">{formatDuration(numberOf(run.durationMs))}</span>
          <span class="muted">
            <Age time={textOf(run.startTime)} />
          </span>
        </summary>
        <RunDetails run={run} writes={writes} />
      </details>
    </li>
  );
}

/** Returns a trigger as a text such as `event MODIFIED of revision 12 by kubectl`. */
function triggerText({ type, detail, resourceVersion, manager }: JsonObject): string {
  const revision = textOf(resourceVersion) === '' ? '' : ` of revision ${textOf(resourceVersion)}`;
  const writer = textOf(manager) === '' ? '' : ` by ${textOf(manager)}`;
  return `${textOf(type)} ${textOf(detail)}`.trim() + revision + writer;
}

function RunDetails({ run, writes }: { readonly run: ApiObject; readonly writes: readonly JsonObject[] }) {
  const error = isObject(run.error) ? run.error : undefined;
  const unrecorded = numberOf(run.unrecorded);
  return (
    <div class="run-body">
      <p class="muted">
        Attempt {numberOf(run.attempt)}, after {formatDuration(numberOf(run.waitMs))} in the queue.{' '}
        <NextRun time={textOf(run.nextTime)} />
        {unrecorded === 0 ? null : `${formatCount(unrecorded)} earlier runs of this controller have no record.`}
      </p>
      {error === undefined ? null : (
        <>
          <p class="problem">
            <Text value={textOf(error.message)} length={2000} />
          </p>
          {textOf(error.stack) === '' ? null : <pre class="stack-trace">{textOf(error.stack)}</pre>}
        </>
      )}
      {writes.map((write, index) => (
        <Write key={index} write={write} />
      ))}
    </div>
  );
}

/** Shows when the next run is due, or was due. */
function NextRun({ time }: { readonly time: string }) {
  if (time === '') return null;
  if (Date.parse(time) >= now.value)
    return (
      <>
        Next run: <Due time={time} />.{' '}
      </>
    );
  return (
    <>
      The next run was due <Age time={time} isSentence />.{' '}
    </>
  );
}

function Write({ write }: { readonly write: JsonObject }) {
  const target = isObject(write.object) ? write.object : {};
  const changes = listOf(write.changes);
  return (
    <section class="write">
      <p>
        <strong>{textOf(write.verb)}</strong> {textOf(target.kind)} {textOf(target.name)}
        {textOf(write.subresource) === '' ? '' : `/${textOf(write.subresource)}`}{' '}
        {write.changed === false ? <span class="muted">changed nothing</span> : null}
      </p>
      {textOf(write.error) === '' ? null : <p class="problem">{textOf(write.error)}</p>}
      {changes.length === 0 ? null : (
        <DiffView
          differences={changes.map(({ path, from, to, redacted }) => ({
            path: [textOf(path)],
            before: redacted === true ? 'confidential' : from,
            after: redacted === true ? 'confidential' : to,
          }))}
        />
      )}
    </section>
  );
}
