import { useEffect, useRef, useState } from 'preact/hooks';
import { textOf } from '../../base/json.ts';
import type { ApiObject } from '../../base/object.ts';
import { keyOf } from '../../api/resources.ts';
import { Card, PageHead } from '../../parts/basics.tsx';
import type { Contribution } from '../../state/plugins.ts';
import { addedTo, contributions } from '../../state/plugins.ts';
import { route } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import type { Place } from '../../state/place.ts';

/** The context that a panel or a page of a plugin gets. */
interface PanelContext {
  /** The object of a panel; undefined for a page. */
  readonly object: ApiObject | undefined;
  /** Sends a GET to a path of the server, with the user's rights. Rejects with an Error when that fails. */
  readonly get: (path: string) => Promise<unknown>;
  /** Aborts when the panel is closed, or the object has changed and the panel is mounted again. */
  readonly signal: AbortSignal;
}

interface PanelModule {
  mount(element: HTMLElement, context: PanelContext): unknown;
}

function isPanelModule(module: unknown): module is PanelModule {
  return typeof module === 'object' && module !== null && 'mount' in module && typeof module.mount === 'function';
}

/** Shows the panels that plugins add for the kind of `object`. */
export function PluginPanels({ place, object }: { readonly place: Place; readonly object: ApiObject }) {
  const panels = addedTo(keyOf(place.resource), 'panels');
  return (
    <>
      {panels.map((panel) => (
        <Card
          key={`${panel.plugin}/${panel.name}`}
          title={panel.title}
          aside={<span class="muted">{panel.plugin}</span>}
        >
          <Mounted contribution={panel} object={object} />
        </Card>
      ))}
    </>
  );
}

/** Shows a page that a plugin adds to the console. */
export function PluginPage() {
  const [, plugin, name] = route.value.segments;
  const page = contributions.value.find(
    (each) => each.point === 'pages' && each.plugin === plugin && each.name === name,
  );
  if (page === undefined)
    return (
      <div class="page">
        <PageHead title="The plugin has no page of this name" />
        <p>
          Perhaps it is not running: look at <a href="#/plugins">the plugins</a>.
        </p>
      </div>
    );
  return (
    <div class="page">
      <PageHead title={page.title} />
      <Mounted key={`${plugin}/${name}`} contribution={page} object={undefined} />
    </div>
  );
}

interface MountedProps {
  readonly contribution: Contribution;
  readonly object: ApiObject | undefined;
}

/**
 * Runs a plugin's module in an element of its own. Its errors are shown there, and do not affect the rest of the page.
 */
function Mounted({ contribution, object }: MountedProps) {
  const element = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState('');
  const revision = textOf(object?.metadata.resourceVersion);
  useEffect(() => {
    const end = new AbortController();
    setProblem('');
    void mount(contribution, { element: element.current, object, signal: end.signal }).catch((error: unknown) => {
      if (!end.signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
    });
    return () => end.abort();
  }, [contribution.plugin, contribution.module, revision]);
  return (
    <>
      {problem === '' ? null : (
        <p class="problem" role="alert">
          The plugin {contribution.plugin} failed here: {problem}
        </p>
      )}
      <div ref={element} />
    </>
  );
}

const isFunction = (value: unknown): value is () => void => typeof value === 'function';

interface MountParts {
  readonly element: HTMLElement | null;
  readonly object: ApiObject | undefined;
  readonly signal: AbortSignal;
}

async function mount({ plugin, module: path }: Contribution, { element, object, signal }: MountParts): Promise<void> {
  if (element === null) return;
  const url = api.url(`/plugins/${plugin}/assets/${path}`);
  const module: unknown = await import(/* @vite-ignore */ url);
  if (signal.aborted) return;
  if (!isPanelModule(module)) throw new Error(`${path} exports no function "mount"`);
  const get = async (wanted: string): Promise<unknown> => api.get(wanted, {}, signal);
  element.replaceChildren();
  const close = await module.mount(element, { object, get, signal });
  const end = (): void => {
    if (isFunction(close)) close();
    element.replaceChildren();
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
}
