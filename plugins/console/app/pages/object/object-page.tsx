import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { healthOf, uidOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { visibleText } from '../../base/shown-text.ts';
import { keyOf } from '../../api/resources.ts';
import { Age, Badge, Empty, Failure, HealthBadge, Loading, PageHead } from '../../parts/basics.tsx';
import { textOf } from '../../base/json.ts';
import { unsaved } from '../../state/left-drafts.ts';
import { createHref, kindHref, objectHref, route } from '../../state/route.ts';
import { may } from '../../state/session.ts';
import { PluginActions } from '../extensions/plugin-actions.tsx';
import { EditTab } from '../edit/edit-tab.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { EventsTab } from './events-tab.tsx';
import { HistoryTab } from './history-tab.tsx';
import { RawTab } from './raw-tab.tsx';
import { RunsTab } from './runs-tab.tsx';
import { SummaryTab } from './summary-tab.tsx';
import { TreeTab } from './tree-tab.tsx';
import { useObject } from './use-object.ts';
import type { Place } from '../../state/place.ts';

interface TabProps {
  readonly place: Place;
  readonly object: ApiObject;
}

const tabs: readonly (readonly [name: string, title: string, tab: (props: TabProps) => JSX.Element | null])[] = [
  ['', 'Summary', SummaryTab],
  ['edit', 'Edit', EditTab],
  ['tree', 'Owners', TreeTab],
  ['runs', 'Runs', RunsTab],
  ['history', 'History', HistoryTab],
  ['events', 'Events', EventsTab],
  ['raw', 'YAML', RawTab],
];

/** The page of one object: a tab for each kind of data about the object, and the actions on it. */
export function ObjectPage({ place }: { readonly place: Place }) {
  const { object, isGone, isFixed, state } = useObject(place);
  if (state.kind === 'refused' && !isFixed) return <Refused place={place} failure={state.failure} />;
  if (object === undefined) return isGone ? <Missing place={place} /> : <Loading />;
  const tab = route.value.query.get('tab') ?? '';
  const [, , Tab] = tabs.find(([name]) => name === tab) ?? tabs[0] ?? ['', '', SummaryTab];
  return (
    <div class="page">
      <Head place={place} object={object} isGone={isGone} />
      {isFixed ? (
        <p class="muted">You may read this object, but not follow it: load the page again to see later changes.</p>
      ) : null}
      <nav class="tabs" aria-label="Parts of the object">
        {tabs.map(([name, title]) => (
          <a
            key={name}
            href={objectHref(keyOf(place.resource), place.namespace, place.name, name)}
            aria-current={name === tab ? 'page' : undefined}
          >
            {title}
            {name === 'edit' && unsaved.value.has(uidOf(object)) ? <Unsaved /> : null}
          </a>
        ))}
      </nav>
      <Tab key={tab} place={place} object={object} />
    </div>
  );
}

/** A mark on the tab of the editor, which means that the draft has unsaved changes. */
function Unsaved() {
  return (
    <span class="unsaved" title="Not saved">
      <span aria-hidden="true"> •</span>
      <span class="visually-hidden">not saved</span>
    </span>
  );
}

function Head({ place, object, isGone }: TabProps & { readonly isGone: boolean }) {
  const [isDeleting, setDeleting] = useState(false);
  const { resource, namespace, name } = place;
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  return (
    <>
      <p class="crumbs">
        <a href={kindHref(keyOf(resource))}>{resource.kind}</a>
        {namespace === '' ? null : (
          <>
            <span aria-hidden="true">/</span>
            <a href={kindHref(keyOf(resource), { ns: namespace })}>{namespace}</a>
          </>
        )}
      </p>
      <PageHead title={<bdi>{visibleText(name)}</bdi>}>
        <span class="muted">
          created <Age time={textOf(object.metadata.creationTimestamp)} isSentence />
        </span>
        <State object={object} isGone={isGone} />
        {isGone ? null : <PluginActions place={place} object={object} />}
        {isGone || isDeleted || !may('delete', resource, name) ? null : (
          <button type="button" class="button button-danger" onClick={() => setDeleting(true)}>
            Delete…
          </button>
        )}
      </PageHead>
      {isGone ? <p class="problem">This object was deleted. What you see is its last state.</p> : null}
      {isDeleting ? <DeleteDialog place={place} object={object} onClose={() => setDeleting(false)} /> : null}
    </>
  );
}

/** Shows the health of the object, or nothing for an object that has no status and is not being deleted. */
function State({ object, isGone }: { readonly object: ApiObject; readonly isGone: boolean }) {
  if (isGone) return <Badge tone="quiet">Deleted</Badge>;
  const health = healthOf(object);
  return health === 'ok' && object.status === undefined ? null : <HealthBadge health={health} />;
}

function Missing({ place: { resource, name } }: { readonly place: Place }) {
  return (
    <div class="page">
      <PageHead title={name} />
      <Empty title={`There is no ${resource.kind} of this name`}>
        {may('create', resource) ? <a href={createHref(keyOf(resource), name)}>Create it</a> : null}
        {may('create', resource) ? ' · ' : ''}
        <a href={kindHref(keyOf(resource))}>See all</a>
      </Empty>
    </div>
  );
}

function Refused({
  place,
  failure,
}: {
  readonly place: Place;
  readonly failure: Parameters<typeof Failure>[0]['failure'];
}) {
  return (
    <div class="page">
      <PageHead title={place.name} />
      <Failure failure={failure} onRetry={() => location.reload()} />
    </div>
  );
}
