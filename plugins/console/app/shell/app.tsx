import { useEffect } from 'preact/hooks';
import { nameOf } from '../base/object.ts';
import { textOf, isObject } from '../base/json.ts';
import { kindsFailure, loadKinds, pluginGroup, resources } from '../state/kinds.ts';
import { dismiss, notices } from '../state/page-state.ts';
import { pageNamespace, route } from '../state/route.ts';
import { changePlugins, loadContributions, plugins, setPlugins } from '../state/plugins.ts';
import { unsaved } from '../state/left-drafts.ts';
import { forgetSchemas } from '../state/schemas.ts';
import { useFollow } from '../state/follow-kind.ts';
import { isReachable, isSessionOver, loadSession, may, sessionNumber } from '../state/session.ts';
import { browserClock } from '../base/time.ts';
import { Failure, Loading } from '../parts/basics.tsx';
import { Page } from '../pages/page.tsx';
import { LoginDialog } from './login-dialog.tsx';
import { Palette, KeysHelp } from './palette.tsx';
import { Sidebar } from './sidebar.tsx';
import { useShortcuts } from './shortcuts.ts';

/** The whole console: the navigation, the current page, and the dialogs above it. */
export function App() {
  useShortcuts();
  useSession();
  usePlugins();
  useHealing();
  useFocusOnNavigation();
  useLeaveWarning(unsaved.value.size > 0);
  return (
    <div class="app">
      <a class="skip-link" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Sidebar />
      <main id="main" tabIndex={-1}>
        <ConnectionBar />
        <Content />
      </main>
      <Palette />
      <KeysHelp />
      <Notices />
      {isSessionOver.value ? <LoginDialog /> : null}
    </div>
  );
}

function Content() {
  if (resources.value !== undefined) return <Page />;
  const failure = kindsFailure.value;
  return failure === undefined ? <Loading /> : <Failure failure={failure} onRetry={() => void loadKinds()} />;
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('main h1')?.focus();
}

/** Shows short messages at the corner of the page. */
function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, tone, text }) => (
        <div key={id} class={`notice notice-${tone}`}>
          <span>{text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}

/** Shows a message while the connection is lost. */
function ConnectionBar() {
  if (isReachable.value) return null;
  return (
    <div class="connection-bar" role="status">
      The connection to the server is lost. Trying again… What you typed is kept.
    </div>
  );
}

/** Reads the user's permissions, which differ by namespace. */
function useSession(): void {
  useEffect(() => void loadSession(), [pageNamespace.value]);
}

/** Follows the plugins: their phases decide which kinds and contributions exist. */
function usePlugins(): void {
  const group = pluginGroup.value;
  const path = `/apis/${group}/v1alpha1/plugins`;
  const isAllowed = may('watch', { group, plural: 'plugins' });
  useFollow(
    `plugins ${group} ${isAllowed}`,
    isAllowed ? { path, onList: setPlugins, onChanges: changePlugins } : undefined,
  );
  const phases = [...plugins.value.values()]
    .map((each) => `${nameOf(each)} ${isObject(each.status) ? textOf(each.status.phase) : ''}`)
    .join();
  useEffect(() => {
    forgetSchemas();
    void Promise.all([loadKinds(), loadContributions()]);
  }, [phases, sessionNumber.value]);
}

/** The interval between two attempts to reach the server while the connection is lost. */
const probeMs = 2000;

/**
 * Sends requests while the connection is lost, so that even a page without a watch notices that the server responds
 * again.
 */
function useHealing(): void {
  const isLost = !isReachable.value;
  useEffect(() => {
    if (!isLost) return undefined;
    let cancel = (): void => undefined;
    const probe = (): void => {
      void loadKinds();
      cancel = browserClock.after(probeMs, probe);
    };
    cancel = browserClock.after(probeMs, probe);
    return () => cancel();
  }, [isLost]);
}

/** Moves the focus to the title of a new page, so that a screen reader reads the title. */
function useFocusOnNavigation(): void {
  const path = route.value.segments.join('/');
  useEffect(() => {
    const title = document.querySelector<HTMLElement>('main h1');
    document.title = title === null ? 'Homeostat' : `${title.textContent} – Homeostat`;
    if (document.activeElement === document.body) title?.focus({ preventScroll: true });
  }, [path, resources.value === undefined]);
}

/** Makes the browser ask before it closes or reloads the page while changes are not saved. */
function useLeaveWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isChanged]);
}
