import { useEffect } from 'preact/hooks';
import { browserClock } from '../base/time.ts';
import { Empty, PageHead } from '../parts/basics.tsx';
import { findKind, loadKinds } from '../state/kinds.ts';
import { route } from '../state/route.ts';
import { AccessPage } from './access-page.tsx';
import { AuditPage } from './audit-page.tsx';
import { ControllersPage } from './controllers-page.tsx';
import { CreatePage } from './edit/create-page.tsx';
import { KindListPage } from './kind-list/kind-list-page.tsx';
import { ObjectPage } from './object/object-page.tsx';
import { OverviewPage } from './overview-page.tsx';
import { PluginPage } from './extensions/plugin-panels.tsx';
import { PluginsPage } from './plugins-page.tsx';
import { WatchPage } from './watch-page.tsx';

const pages = {
  '': OverviewPage,
  plugins: PluginsPage,
  controllers: ControllersPage,
  watch: WatchPage,
  access: AccessPage,
  audit: AuditPage,
  pages: PluginPage,
} as const;

const isPage = (name: string): name is keyof typeof pages => Object.hasOwn(pages, name);

/** The page that the URL names. */
export function Page() {
  const [page = '', key = '', namespace = '', name = ''] = route.value.segments;
  if (isPage(page)) {
    const Found = pages[page];
    return <Found />;
  }
  if (!['kinds', 'create', 'objects'].includes(page)) return <NoPage />;
  const resource = findKind(key);
  if (resource === undefined) return <NoKind name={key} />;
  if (page === 'kinds') return <KindListPage key={key} resource={resource} />;
  if (page === 'create') return <CreatePage key={key} resource={resource} />;
  const place = { resource, namespace: namespace === '-' ? '' : namespace, name };
  return <ObjectPage key={`${key} ${namespace} ${name}`} place={place} />;
}

function NoPage() {
  return (
    <div class="page">
      <PageHead title="No such page" />
      <Empty title="There is nothing at this address">
        <a href="#/">Go to the overview</a>
      </Empty>
    </div>
  );
}

/**
 * The interval at which the page checks whether a missing kind is served. It checks because some users have no
 * permission to watch the plugins, whose changes would announce the kind.
 */
const lookMs = 2000;

function NoKind({ name }: { readonly name: string }) {
  useEffect(() => {
    let cancel = (): void => undefined;
    const look = (): void => {
      void loadKinds();
      cancel = browserClock.after(lookMs, look);
    };
    cancel = browserClock.after(lookMs, look);
    return () => cancel();
  }, []);
  return (
    <div class="page">
      <PageHead title={name} />
      <Empty title="The server does not serve this kind">
        <p>
          Perhaps its plugin is not running: look at <a href="#/plugins">the plugins</a>. This page continues when the
          server serves the kind again.
        </p>
      </Empty>
    </div>
  );
}
