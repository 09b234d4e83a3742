import { useEffect, useState } from 'preact/hooks';
import { keyOf } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import { isBuiltIn, listedKinds } from '../state/kinds.ts';
import { contributions } from '../state/plugins.ts';
import { nextTheme, theme } from '../state/page-state.ts';
import { hrefOf, kindHref, route } from '../state/route.ts';
import { api, auditEntries, isReachable, logOut, may, userName } from '../state/session.ts';
import { isHelpOpen, paletteMode } from './shortcuts.ts';

/** The navigation. On a narrow screen its links are behind a button. */
export function Sidebar() {
  const [isOpen, setOpen] = useState(false);
  const path = route.value.segments.join('/');
  useEffect(() => setOpen(false), [path]);
  return (
    <nav class={`sidebar ${isOpen ? 'sidebar-open' : ''}`} aria-label="Main">
      <div class="sidebar-head">
        <a class="brand" href="#/">
          <Mark />
          Homeostat
        </a>
        <button type="button" class="button menu-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
      </div>
      <button type="button" class="search-button" onClick={() => (paletteMode.value = 'search')}>
        Search <kbd>/</kbd>
      </button>
      <div class="sidebar-scroll">
        <Pages />
        <Kinds />
      </div>
      <Foot />
    </nav>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="7" class="mark-back" />
      <path d="M5 19c4 0 4-8 8-8s4 11 7 11 3-6 7-6" class="mark-line" />
    </svg>
  );
}

interface LinkProps {
  readonly href: string;
  readonly text: string;
  /** A hint with details that the text leaves out. */
  readonly title?: string;
}

function NavLink({ href, text, title }: LinkProps) {
  const path = `#/${route.value.segments.map(encodeURIComponent).join('/')}`;
  const isHere = path === href || (href !== '#/' && path.startsWith(`${href}/`)) || isKindOf(href);
  return (
    <a class="nav-link" href={href} title={title} aria-current={isHere ? 'page' : undefined}>
      {text}
    </a>
  );
}

/** True for the link of a kind while the page shows an object of the kind, or creates one. */
function isKindOf(href: string): boolean {
  const [page, key = ''] = route.value.segments;
  return (page === 'objects' || page === 'create') && href === kindHref(key);
}

function Pages() {
  const added = contributions.value.filter(({ point }) => point === 'pages');
  return (
    <ul class="nav-list">
      <li>
        <NavLink href="#/" text="Overview" />
      </li>
      <li>
        <NavLink href="#/controllers" text="Controllers" />
      </li>
      <li>
        <NavLink href="#/plugins" text="Plugins" />
      </li>
      <li>
        <NavLink href="#/watch" text="Watch" />
      </li>
      <li>
        <NavLink href="#/access" text="Access" />
      </li>
      {may('list', auditEntries) ? (
        <li>
          <NavLink href="#/audit" text="Audit" />
        </li>
      ) : null}
      <li>
        <a class="nav-link" href={api.url('/docs')}>
          API
        </a>
      </li>
      {added.map(({ plugin, name, title }) => (
        <li key={`${plugin}/${name}`}>
          <NavLink href={hrefOf(['pages', plugin, name])} text={title} title={`From the plugin ${plugin}`} />
        </li>
      ))}
    </ul>
  );
}

function Kinds() {
  const [isOpen, setOpen] = useState(false);
  const kinds = listedKinds.value.filter((kind) => may('list', kind));
  const own = kinds.filter((kind) => !isBuiltIn(kind));
  const builtIn = kinds.filter(isBuiltIn);
  return (
    <>
      {groupsOf(own).map(([group, members]) => (
        <KindGroup key={group} group={group} kinds={members} />
      ))}
      {builtIn.length === 0 ? null : (
        <button type="button" class="nav-heading nav-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Built-in kinds
        </button>
      )}
      {isOpen
        ? groupsOf(builtIn).map(([group, members]) => <KindGroup key={group} group={group} kinds={members} />)
        : null}
    </>
  );
}

function groupsOf(kinds: readonly Resource[]): readonly (readonly [string, readonly Resource[]])[] {
  const groups = new Map<string, Resource[]>();
  for (const kind of kinds) groups.set(kind.group, [...(groups.get(kind.group) ?? []), kind]);
  return [...groups];
}

function KindGroup({ group, kinds }: { readonly group: string; readonly kinds: readonly Resource[] }) {
  return (
    <section aria-label={group || 'core'}>
      <h2 class="nav-heading" title={group || 'core'}>
        {group || 'core'}
      </h2>
      <ul class="nav-list">
        {kinds.map((kind) => (
          <li key={keyOf(kind)}>
            <NavLink href={kindHref(keyOf(kind))} text={kind.kind} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/**
 * True when there is probably no session to end: with `--auth open`, every request has the user `developer`. Also true
 * until the user is known.
 */
const isOpenToAll = (): boolean => userName.value === 'developer' || userName.value === '';

function Foot() {
  return (
    <div class="sidebar-foot">
      <span class={isReachable.value ? 'dot dot-good' : 'dot dot-bad'} aria-hidden="true" />
      <span class="user" title={userName.value}>
        {isReachable.value ? userName.value || 'connected' : 'no connection'}
      </span>
      <button
        type="button"
        class="icon-button"
        aria-label={`Theme: ${theme.value}`}
        title={`Theme: ${theme.value}`}
        onClick={() => (theme.value = nextTheme())}
      >
        ◐
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label="Keys"
        title="Keys (?)"
        onClick={() => (isHelpOpen.value = true)}
      >
        ?
      </button>
      {isOpenToAll() ? null : (
        <button type="button" class="icon-button" aria-label="Log out" title="Log out" onClick={() => void logOut()}>
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" class="icon">
            <path d="M6 2H3v12h3M10 5l3 3-3 3M13 8H6" />
          </svg>
        </button>
      )}
    </div>
  );
}
