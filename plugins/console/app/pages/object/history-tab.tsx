import { useEffect, useState } from 'preact/hooks';
import { differences } from '../../base/differences.ts';
import { isArray, isObject, textOf } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import { isApiObject } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { ApiFailure, toFailure } from '../../api/failure.ts';
import { pathOf } from '../../api/resources.ts';
import { Age, Badge, Card, Failure, Loading } from '../../parts/basics.tsx';
import { DiffView } from '../../parts/diff-view.tsx';
import { notify } from '../../state/page-state.ts';
import type { Place } from '../../state/place.ts';
import { api, may } from '../../state/session.ts';
import { editableOf } from '../edit/draft.ts';
import { SaveDialog } from '../edit/save-dialog.tsx';
import { useDraft } from '../edit/use-draft.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

interface History {
  readonly items: readonly JsonObject[];
  /** The token of the next page; empty on the last one. */
  readonly next: string;
}

const pathTo = ({ resource, namespace, name }: Place): string => pathOf(resource, namespace, name);

/** The tab with the changes of the object, as far back as the server keeps them. */
export function HistoryTab({ place, object }: Props) {
  const [history, setHistory] = useState<History>({ items: [], next: '' });
  const [failure, setFailure] = useState<ApiFailure>();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [restored, setRestored] = useState<ApiObject>();
  const read = async (from: string): Promise<void> => {
    try {
      const page = await readHistory(place, from);
      setHistory((old) => (from === '' ? page : { ...page, items: [...old.items, ...page.items] }));
      setFailure(undefined);
    } catch (error) {
      setFailure(toFailure(error));
    }
  };
  useEffect(() => {
    void read('');
  }, [object.metadata.resourceVersion]);
  const toggle = (revision: string): void =>
    setChosen((old) =>
      old.includes(revision) ? old.filter((each) => each !== revision) : [...old, revision].slice(-2),
    );
  const restore = (revision: string): void =>
    void readRevision(place, revision).then(setRestored, (error: unknown) => notify('bad', toFailure(error).message));
  if (failure !== undefined) return <Failure failure={failure} onRetry={() => void read('')} />;
  if (history.items.length === 0) return <Loading />;
  return (
    <div class="stack">
      {chosen.length === 2 ? <Comparison key={chosen.join()} place={place} revisions={chosen} /> : null}
      <p class="muted">Select two changes to compare the object after each of them.</p>
      <ol class="runs">
        {history.items.map((item) => (
          <Change key={textOf(item.resourceVersion)} item={item} {...{ place, chosen, toggle, restore }} />
        ))}
      </ol>
      {history.next === '' ? null : (
        <button type="button" class="button" onClick={() => void read(history.next)}>
          Earlier changes
        </button>
      )}
      {restored === undefined ? null : (
        <Restore place={place} old={restored} object={object} onClose={() => setRestored(undefined)} />
      )}
    </div>
  );
}

async function readHistory(place: Place, from: string): Promise<History> {
  const page = await api.get(`${pathTo(place)}/history`, { continue: from });
  if (!isObject(page)) return { items: [], next: '' };
  const { items, metadata } = page;
  return {
    items: isArray(items) ? items.filter(isObject) : [],
    next: isObject(metadata) ? textOf(metadata.continue) : '',
  };
}

/** Reads the state of the object at a revision. */
async function readRevision(place: Place, resourceVersion: string): Promise<ApiObject> {
  const found = await api.get(pathTo(place), { resourceVersion, resourceVersionMatch: 'Exact' });
  if (!isApiObject(found)) throw new ApiFailure('the server sent no object', { status: 0, reason: 'Failed' });
  return found;
}

interface ChangeProps {
  readonly item: JsonObject;
  readonly place: Place;
  readonly chosen: readonly string[];
  readonly toggle: (revision: string) => void;
  readonly restore: (revision: string) => void;
}

function Change({ item, place, chosen, toggle, restore }: ChangeProps) {
  const revision = textOf(item.resourceVersion);
  const verb = textOf(item.verb);
  const changes = isArray(item.changes) ? item.changes.filter(isObject) : [];
  const who = [textOf(item.manager), textOf(item.user)].filter((each) => each !== '').join(', as ');
  return (
    <li class="run run-chosen">
      <input
        type="checkbox"
        aria-label={`Compare revision ${revision}`}
        checked={chosen.includes(revision)}
        onClick={() => toggle(revision)}
      />
      <details>
        <summary>
          <Badge tone={verb === 'delete' ? 'bad' : 'quiet'}>{verb}</Badge>
          <span class="grow">
            {changes
              .slice(0, 4)
              .map(({ path }) => textOf(path))
              .join(', ')}
            {changes.length > 4 ? ` and ${changes.length - 4} more` : ''}
          </span>
          <span class="muted">{who}</span>
          <code class="muted">{revision}</code>
          <span class="muted">
            <Age time={textOf(item.time)} />
          </span>
        </summary>
        <div class="run-body">
          <DiffView
            differences={changes.map(({ path, from, to }) => ({ path: [textOf(path)], before: from, after: to }))}
          />
          {verb === 'delete' || !may('update', place.resource, place.name) ? null : (
            <div>
              <button type="button" class="button" onClick={() => restore(revision)}>
                Restore this state…
              </button>
            </div>
          )}
        </div>
      </details>
    </li>
  );
}

function Comparison({ place, revisions }: { readonly place: Place; readonly revisions: readonly string[] }) {
  const [objects, setObjects] = useState<readonly ApiObject[]>();
  const [failure, setFailure] = useState<ApiFailure>();
  const sorted = [...revisions].sort((a, b) => Number(a) - Number(b));
  useEffect(() => {
    Promise.all(sorted.map((each) => readRevision(place, each))).then(setObjects, (error: unknown) =>
      setFailure(toFailure(error)),
    );
  }, []);
  const [before, after] = objects ?? [];
  return (
    <Card title={`From revision ${sorted.join(' to ')}`}>
      {failure === undefined ? null : <Failure failure={failure} />}
      {before === undefined || after === undefined ? null : (
        <DiffView differences={differences(withoutNoise(before), withoutNoise(after))} />
      )}
    </Card>
  );
}

/** Returns the object without the fields that change with each write. */
function withoutNoise({ metadata, ...rest }: ApiObject): JsonObject {
  const { managedFields: _managedFields, resourceVersion: _resourceVersion, version: _version, ...kept } = metadata;
  return { metadata: kept, ...rest };
}

interface RestoreProps {
  readonly place: Place;
  readonly old: ApiObject;
  readonly object: ApiObject;
  readonly onClose: () => void;
}

/** The dialog that restores a former state: it writes this state as an ordinary change. */
function Restore({ place, old, object, onClose }: RestoreProps) {
  const draft = useDraft(editableOf(old));
  return (
    <SaveDialog
      resource={place.resource}
      draft={draft}
      stored={object}
      onClose={onClose}
      onFailure={() => undefined}
      onSaved={() => {
        notify('good', `${place.name} is restored`);
        onClose();
      }}
    />
  );
}
