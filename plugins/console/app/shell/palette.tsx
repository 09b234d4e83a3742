import { useEffect, useState } from 'preact/hooks';
import { keyOf, pathOf } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import { metadataType } from '../api/api.ts';
import type { Query } from '../api/api.ts';
import { nameOf, namespaceOf, uidOf } from '../base/object.ts';
import type { ApiObject } from '../base/object.ts';
import { browserClock } from '../base/time.ts';
import { visibleText } from '../base/shown-text.ts';
import { listedKinds } from '../state/kinds.ts';
import { objectsOf } from '../state/plugins.ts';
import { go, kindHref, objectHref } from '../state/route.ts';
import { api, auditEntries, may } from '../state/session.ts';
import { Dialog } from '../parts/dialog.tsx';
import { isHelpOpen, paletteMode, shortcuts } from './shortcuts.ts';

interface Hit {
  readonly href: string;
  readonly title: string;
  readonly detail: string;
}

const pages: readonly Hit[] = [
  { href: '#/', title: 'Overview', detail: 'Page' },
  { href: '#/plugins', title: 'Plugins', detail: 'Page' },
  { href: '#/controllers', title: 'Controllers', detail: 'Page' },
  { href: '#/watch', title: 'Watch', detail: 'Page' },
  { href: '#/access', title: 'Access', detail: 'Page' },
  { href: '#/audit', title: 'Audit', detail: 'Page' },
];

export function Palette() {
  const mode = paletteMode.value;
  return mode === undefined ? null : <OpenPalette key={mode} mode={mode} />;
}

function OpenPalette({ mode }: { readonly mode: 'search' | 'jump' }) {
  const [text, setText] = useState('');
  const [index, setIndex] = useState(0);
  const named = useNames(mode === 'search' ? text : '');
  const hits = [...hitsOf(text, mode), ...named].slice(0, 30);
  const chosen = Math.min(index, hits.length - 1);
  const close = (): void => {
    paletteMode.value = undefined;
  };
  const open = (hit: Hit | undefined): void => {
    close();
    if (hit !== undefined) go(hit.href);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setIndex(Math.max(0, Math.min(hits.length - 1, chosen + step)));
    else if (event.key === 'Enter') open(hits[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={mode === 'search' ? 'Search kinds and names' : 'Jump to a kind'} onClose={close}>
      <input
        class="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-hits"
        aria-activedescendant={chosen < 0 ? undefined : `hit-${chosen}`}
        aria-label={mode === 'search' ? 'Kind or name' : 'Kind'}
        placeholder={mode === 'search' ? 'Person, ada, plugins…' : 'po, cm, persons…'}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
        autofocus
      />
      <ul class="palette-hits" id="palette-hits" role="listbox" aria-label="Results">
        {hits.map((hit, position) => (
          <li
            key={hit.href}
            id={`hit-${position}`}
            role="option"
            aria-selected={position === chosen}
            onClick={() => open(hit)}
          >
            <span>{visibleText(hit.title)}</span>
            <span class="muted">{hit.detail}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 ? <p class="muted">Nothing has this name.</p> : null}
    </Dialog>
  );
}

function hitsOf(text: string, mode: 'search' | 'jump'): readonly Hit[] {
  const wanted = text.trim().toLowerCase();
  const kinds = listedKinds.value
    .filter((kind) => matches(kind, wanted))
    .sort((a, b) => Number(isExact(b, wanted)) - Number(isExact(a, wanted)))
    .map((kind) => ({ href: kindHref(keyOf(kind)), title: kind.kind, detail: kind.group || 'core' }));
  if (mode === 'jump') return kinds;
  const open = pages.filter(({ href }) => href !== '#/audit' || may('list', auditEntries));
  return [...open.filter(({ title }) => title.toLowerCase().includes(wanted)), ...kinds];
}

function namesOf({ kind, plural, shortNames }: Resource): readonly string[] {
  return [kind.toLowerCase(), plural, ...shortNames];
}

const matches = (kind: Resource, wanted: string): boolean => namesOf(kind).some((name) => name.includes(wanted));
const isExact = (kind: Resource, wanted: string): boolean => namesOf(kind).includes(wanted);

/** The number of kinds whose objects are searched by name. The limit keeps the requests of one search few. */
const searchedKinds = 12;

/**
 * Returns objects whose names contain the text. It searches only the first {@link searchedKinds} kinds that the person
 * may list, after the person has not typed for 0.2 s.
 */
function useNames(text: string): readonly Hit[] {
  const [hits, setHits] = useState<readonly Hit[]>([]);
  const wanted = text.trim();
  useEffect(() => {
    setHits([]);
    if (wanted.length < 2) return undefined;
    const end = new AbortController();
    const cancel = browserClock.after(200, () => {
      void searchNames(wanted, end.signal).then((found) => end.signal.aborted || setHits(found));
    });
    return () => {
      cancel();
      end.abort();
    };
  }, [wanted]);
  return hits;
}

async function searchNames(wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const kinds = listedKinds.value.filter((kind) => may('list', kind)).slice(0, searchedKinds);
  const found = await Promise.all(kinds.map((kind) => namesIn(kind, wanted, signal)));
  return found.flat();
}

/**
 * Returns up to five objects of the kind: the objects with exactly this name, and then, among the first 500 names,
 * those that contain the text.
 */
async function namesIn(kind: Resource, wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  try {
    const read = async (query: Query): Promise<readonly ApiObject[]> =>
      objectsOf((await api.call(pathOf(kind), { query, accept: metadataType, signal })).body);
    const exact = /^[\w.:-]+$/.test(wanted) ? await read({ limit: 5, fieldSelector: `metadata.name=${wanted}` }) : [];
    const first = await read({ limit: 500, sort: 'metadata.name,asc' });
    const hits = new Map(
      [...exact, ...first.filter((each) => nameOf(each).includes(wanted))].map((each) => [uidOf(each), each]),
    );
    return [...hits.values()].slice(0, 5).map((each) => ({
      href: objectHref(keyOf(kind), namespaceOf(each), nameOf(each)),
      title: nameOf(each),
      detail: [kind.kind, namespaceOf(each)].filter((part) => part !== '').join(' in '),
    }));
  } catch {
    return [];
  }
}

export function KeysHelp() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {shortcuts.map(({ keys, does }) => (
          <div key={keys}>
            <dt>{keys.split(' ').map((each) => (each === 'or' ? ' or ' : <kbd key={each}>{each}</kbd>))}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
