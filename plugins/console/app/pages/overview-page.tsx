import { useState } from 'preact/hooks';
import { isObject, textOf } from '../base/json.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { isApiObject, nameOf, uidOf } from '../base/object.ts';
import type { ApiObject } from '../base/object.ts';
import { formatCount, shortText } from '../base/shown-text.ts';
import { formatDuration } from '../base/time.ts';
import { keyOf } from '../api/resources.ts';
import type { Change } from '../api/watch-client.ts';
import { Age, Badge, Card, Empty, HealthBadge, PageHead, Text } from '../parts/basics.tsx';
import { useFollow } from '../state/follow-kind.ts';
import { isBuiltIn, kindOfObject, listedKinds, pluginGroup } from '../state/kinds.ts';
import { objectsOf, plugins } from '../state/plugins.ts';
import { hrefOf, kindHref, objectHref } from '../state/route.ts';
import { failingOf, useControllers } from '../state/controllers.ts';
import type { ControllerInfo } from '../state/controllers.ts';
import { hrefOfKey } from './key-href.ts';
import { may } from '../state/session.ts';
import { phaseOf, PhaseBadge } from './plugin-phase.tsx';
import { sample, useHealth } from './troubled-objects.ts';
import type { KindHealth, Troubled } from './troubled-objects.ts';

/** The page that shows the problems of the server, each with a link to its cause. */
export function OverviewPage() {
  const { list = [] } = useControllers();
  return (
    <div class="page">
      <PageHead title="Overview" />
      <div class="columns">
        <div class="stack">
          <FailingControllers list={list} />
          <Kinds list={list} />
          <Warnings />
        </div>
        <div class="stack">
          <Rates list={list} />
          <Plugins />
        </div>
      </div>
    </div>
  );
}

interface Reported {
  readonly list: readonly ControllerInfo[];
}

/** The maximum number of failing keys, and of objects with a problem, that a card shows. */
const shownEntries = 12;

/** Shows the number of entries that a card leaves out. */
function More({ count, href, children }: { readonly count: number; readonly href: string; readonly children: string }) {
  return count <= 0 ? null : (
    <p>
      <a href={href}>
        {formatCount(count)} more {children}
      </a>
    </p>
  );
}

/**
 * Shows the rates of all controllers together, and the controller whose runs wait longest if they wait {@link lagMs} or
 * longer.
 */
function Rates({ list }: Reported) {
  if (list.length === 0) return null;
  const sum = (part: string, field: string): number =>
    list.reduce((total, { status }) => total + numberIn(status[part], field), 0);
  const slowest = [...list].sort((a, b) => waitOf(b) - waitOf(a))[0];
  return (
    <Card title="Rates" aside={<a href="#/controllers">All controllers</a>}>
      <p class="rates">
        <span>{sum('rates', 'runs').toFixed(1)} runs/s</span>
        <span>{sum('rates', 'errors').toFixed(1)} errors/s</span>
        <span>{formatCount(sum('queue', 'ready'))} waiting</span>
        <span>{formatCount(sum('queue', 'processing'))} running</span>
      </p>
      {slowest === undefined || waitOf(slowest) < lagMs ? null : (
        <p class="problem">
          Runs of <a href={hrefOf(['controllers', slowest.name])}>{slowest.fullName}</a> wait up to{' '}
          {formatDuration(waitOf(slowest))} (p99).
        </p>
      )}
    </Card>
  );
}

/** A wait in the queue (p99) of at least this time, in ms, is shown as a problem. */
const lagMs = 1000;

const waitOf = ({ status }: ControllerInfo): number => numberIn(status.waitMs, 'p99');

function numberIn(value: Json | undefined, field: string): number {
  const found = isObject(value) ? value[field] : undefined;
  return typeof found === 'number' ? found : 0;
}

/**
 * Shows the controllers that have stopped, the first {@link shownEntries} failing keys, each with a link to its runs,
 * and the number of the other failing keys.
 */
function FailingControllers({ list }: Reported) {
  const failing = list.flatMap((controller) =>
    controller.keys.filter(({ lastError }) => lastError !== '').map((entry) => ({ controller, entry })),
  );
  // The report of a controller has at most 200 keys, so some failing ones may be missing.
  const count = list.reduce((sum, each) => sum + failingOf(each), 0);
  const broken = list.filter(({ status }) => textOf(status.problem) !== '');
  if (failing.length + broken.length === 0) return null;
  return (
    <Card title="Controllers that fail" aside={<a href="#/controllers">All controllers</a>}>
      <ul class="rows-list">
        {broken.map(({ name, fullName, status }) => (
          <li key={name}>
            <Badge tone="bad">stopped</Badge>
            <a href={hrefOf(['controllers', name])}>{fullName}</a>
            <span class="grow problem">{textOf(status.problem)}</span>
          </li>
        ))}
        {failing.slice(0, shownEntries).map(({ controller, entry }) => (
          <li key={`${controller.name} ${entry.key}`}>
            <Badge tone="bad">{entry.attempts} attempts</Badge>
            <a href={hrefOfKey(controller, entry.key)}>{entry.key}</a>
            <span class="grow muted">{controller.fullName}</span>
            {entry.failingSince === '' ? null : (
              <span class="muted">
                for <Age time={entry.failingSince} />
              </span>
            )}
            <span class="below problem">
              <Text value={entry.lastError} length={140} />
            </span>
          </li>
        ))}
      </ul>
      <More count={Math.max(count, failing.length) - shownEntries} href="#/controllers">
        that fail
      </More>
    </Card>
  );
}

function Kinds({ list }: Reported) {
  const { kinds, troubled, isPartial, refresh } = useHealth(list);
  return (
    <Card
      title="Objects that need attention"
      aside={
        <button type="button" class="link" onClick={refresh}>
          Look again
        </button>
      }
    >
      {kinds === undefined || troubled.length > 0 ? null : <AllWell kinds={kinds} />}
      <ul class="rows-list">
        {troubled.slice(0, shownEntries).map((each) => (
          <TroubledObject key={each.key} troubled={each} />
        ))}
      </ul>
      {troubled.length > shownEntries ? (
        <p class="muted">{formatCount(troubled.length - shownEntries)} more: open a kind to see all of its objects.</p>
      ) : null}
      {isPartial ? (
        <p class="muted">
          The list covers the first {formatCount(sample)} objects of each kind, and the stuck objects that the server
          found.
        </p>
      ) : null}
      <div class="kind-counts">
        {(kinds ?? []).map(({ resource, total }) => (
          <a key={keyOf(resource)} class="kind-count" href={kindHref(keyOf(resource))}>
            <strong>{formatCount(total)}</strong>
            <span>{resource.kind}</span>
          </a>
        ))}
      </div>
    </Card>
  );
}

function TroubledObject({ troubled }: { readonly troubled: Troubled }) {
  const { href, name, kind, health, since, reason, cause } = troubled;
  return (
    <li>
      <HealthBadge health={health} />
      <a href={href}>{name}</a>
      <span class="muted">{kind}</span>
      <span class="grow muted">
        {cause === undefined ? null : (
          <>
            <a href={cause.href}>{cause.controller}</a>:{' '}
          </>
        )}
        <Text value={reason} length={120} />
      </span>
      {since === '' ? null : (
        <span class="muted">
          for <Age time={since} />
        </span>
      )}
    </li>
  );
}

function AllWell({ kinds }: { readonly kinds: readonly KindHealth[] }) {
  if (kinds.length === 0 && listedKinds.value.some((kind) => !isBuiltIn(kind)))
    return (
      <Empty title="You may not list any kind across all namespaces">
        If your permission is for one namespace, press <kbd>:</kbd>, open a kind, and filter it by that namespace. Else
        ask an administrator for a role.
      </Empty>
    );
  return kinds.length === 0 ? (
    <Empty title="No plugin has registered a kind yet">
      <p>
        Create one with <code>npm create homeostat my-plugin</code>, and start it with <code>npm run dev</code>.
      </p>
    </Empty>
  ) : (
    <p class="all-well">
      <Badge tone="good">all well</Badge> No object reports that it fails, waits or is stuck.
    </p>
  );
}

const eventsPath = '/apis/events.k8s.io/v1/events';
const keptEvents = 100;

function Warnings() {
  const [events, setEvents] = useState<ReadonlyMap<string, ApiObject>>(new Map());
  const isAllowed = may('watch', { group: 'events.k8s.io', plural: 'events' });
  useFollow(`warnings ${isAllowed}`, isAllowed ? followWarnings(setEvents) : undefined);
  if (!isAllowed) return null;
  const latest = [...events.values()].sort((a, b) => timeOf(b).localeCompare(timeOf(a)));
  return (
    <Card title="Warnings" aside={<a href={kindHref('events.events.k8s.io')}>All events</a>}>
      {latest.length === 0 ? <p class="muted">No controller has reported a warning.</p> : null}
      <ul class="rows-list">
        {latest.slice(0, 15).map((event) => (
          <Warning key={uidOf(event)} event={event} />
        ))}
      </ul>
    </Card>
  );
}

function followWarnings(
  set: (change: (old: ReadonlyMap<string, ApiObject>) => ReadonlyMap<string, ApiObject>) => void,
) {
  const isWarning = (each: JsonObject): each is ApiObject => isApiObject(each) && each.type === 'Warning';
  return {
    path: eventsPath,
    listQuery: { limit: 500 },
    onList: (list: JsonObject): void =>
      set(
        () =>
          new Map(
            objectsOf(list)
              .filter(isWarning)
              .map((each) => [uidOf(each), each]),
          ),
      ),
    onChanges: (changes: readonly Change[]): void =>
      set((old) => {
        const found = new Map(old);
        for (const { type, object } of changes) {
          if (!isWarning(object)) continue;
          found.delete(uidOf(object));
          if (type !== 'DELETED') found.set(uidOf(object), object);
        }
        return new Map([...found].slice(-keptEvents));
      }),
  };
}

/** The time at which an event occurred last. */
function timeOf({ series, eventTime, deprecatedLastTimestamp, metadata }: ApiObject): string {
  const last = isObject(series) ? textOf(series.lastObservedTime) : '';
  return last || textOf(deprecatedLastTimestamp) || textOf(eventTime) || textOf(metadata.creationTimestamp);
}

function Warning({ event }: { readonly event: ApiObject }) {
  const regarding = isObject(event.regarding) ? event.regarding : {};
  const name = textOf(regarding.name);
  const kind = kindOfObject(textOf(regarding.apiVersion), textOf(regarding.kind));
  return (
    <li>
      <Badge tone="bad">{shortText(textOf(event.reason), 40)}</Badge>
      {kind === undefined ? (
        <span>{name}</span>
      ) : (
        <a href={objectHref(keyOf(kind), textOf(regarding.namespace), name)}>{name}</a>
      )}
      <span class="grow">
        <Text value={textOf(event.note)} length={160} />
      </span>
      <span class="muted">
        <Age time={timeOf(event)} />
      </span>
    </li>
  );
}

function Plugins() {
  if (!may('list', { group: pluginGroup.value, plural: 'plugins' })) return null;
  const all = [...plugins.value.values()].sort(
    (a, b) => Number(phaseOf(b) === 'Failed') - Number(phaseOf(a) === 'Failed'),
  );
  return (
    <Card title="Plugins" aside={<a href="#/plugins">Manage</a>}>
      <ul class="rows-list">
        {all.map((plugin) => (
          <li key={nameOf(plugin)}>
            <PhaseBadge plugin={plugin} />
            <a href={`#/plugins/${nameOf(plugin)}`}>{nameOf(plugin)}</a>
            <span class="grow muted">
              <Text value={isObject(plugin.status) ? textOf(plugin.status.message) : ''} length={120} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
