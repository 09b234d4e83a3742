import { useEffect, useRef, useState } from 'preact/hooks';
import { isArray, isObject, numberOf, textOf } from '../base/json.ts';
import { conditionsOf, nameOf, textsIn } from '../base/object.ts';
import type { ApiObject } from '../base/object.ts';
import { formatCount } from '../base/shown-text.ts';
import { browserClock } from '../base/time.ts';
import { toFailure } from '../api/failure.ts';
import { Badge, Card, Empty, PageHead, Text } from '../parts/basics.tsx';
import { pluginGroup } from '../state/kinds.ts';
import { notify } from '../state/page-state.ts';
import { contributions, plugins, settingsSchemaOf } from '../state/plugins.ts';
import { hrefOf, objectHref, route } from '../state/route.ts';
import { api, may } from '../state/session.ts';
import { InstallButton, UninstallButton, useArchives } from './plugin-archives.tsx';
import { PhaseBadge } from './plugin-phase.tsx';
import { Points, useExtensionPoints } from './plugin-points.tsx';
import type { Point } from './plugin-points.tsx';

const resource = () => ({ group: pluginGroup.value, plural: 'plugins' });

/** The page with the phases, errors and switches of all plugins. */
export function PluginsPage() {
  const archives = useArchives();
  const points = useExtensionPoints();
  const list = useRef<HTMLDivElement>(null);
  const [, wanted = ''] = route.value.segments;
  const isThere = plugins.value.has(wanted);
  // A link to one plugin scrolls to the card of this plugin.
  useEffect(() => {
    if (isThere) list.current?.querySelector(`[data-plugin="${CSS.escape(wanted)}"]`)?.scrollIntoView();
  }, [wanted, isThere]);
  const all = [...plugins.value.values()].sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  return (
    <div class="page">
      <PageHead title="Plugins">
        <InstallButton archives={archives} />
      </PageHead>
      {may('list', resource()) ? null : (
        <Empty title="You may not list plugins">Ask an administrator for a role.</Empty>
      )}
      {all.length === 0 && may('list', resource()) ? (
        <Empty title="There are no plugins">
          <p>
            Start the server with <code>--plugin &lt;folder&gt;</code>, or install one.
          </p>
        </Empty>
      ) : null}
      <div class="stack" ref={list}>
        {all.map((plugin) => (
          <PluginCard
            key={nameOf(plugin)}
            plugin={plugin}
            isInstalled={archives.installed.includes(nameOf(plugin))}
            points={points}
          />
        ))}
      </div>
    </div>
  );
}

interface PluginProps {
  readonly plugin: ApiObject;
  /** True for a plugin in the server's folder of installed plugins, so that it can be uninstalled here. */
  readonly isInstalled: boolean;
}

interface CardProps extends PluginProps {
  readonly points: readonly Point[];
}

function PluginCard({ plugin, isInstalled, points }: CardProps) {
  const spec = isObject(plugin.spec) ? plugin.spec : {};
  const status = isObject(plugin.status) ? plugin.status : {};
  const title = textOf(spec.displayName) || nameOf(plugin);
  const dependencies = isArray(spec.dependencies) ? spec.dependencies.filter(isObject) : [];
  return (
    <div data-plugin={nameOf(plugin)}>
      <Card title={title} aside={<Switches {...{ plugin, isInstalled }} isEnabled={spec.enabled !== false} />}>
        <p class="line">
          <PhaseBadge plugin={plugin} />
          <code>
            {nameOf(plugin)} {textOf(spec.version)}
          </code>
          {textOf(spec.group) === '' ? null : <span class="muted">{textOf(spec.group)}</span>}
          {dependencies.map((each) => (
            <span key={textOf(each.name)} class="muted">
              {each.optional === true ? 'uses' : 'needs'} {textOf(each.name)} {textOf(each.range)}
            </span>
          ))}
        </p>
        {textOf(spec.description) === '' ? null : <p>{textOf(spec.description)}</p>}
        {textOf(status.message) === '' ? null : (
          <p class={status.phase === 'Failed' ? 'problem' : 'muted'}>
            <Text value={`${textOf(status.reason)}: ${textOf(status.message)}`} length={2000} />
          </p>
        )}
        <Indexing plugin={plugin} />
        <Added name={nameOf(plugin)} />
        <Points name={nameOf(plugin)} points={points} />
      </Card>
    </div>
  );
}

function Switches({ plugin, isInstalled, isEnabled }: PluginProps & { readonly isEnabled: boolean }) {
  const [isBusy, setBusy] = useState(false);
  const name = nameOf(plugin);
  const isConsole = name === 'console';
  if (!may('patch', resource(), name)) return null;
  const patch = async (spec: object, done: string): Promise<void> => {
    setBusy(true);
    try {
      const contentType = 'application/merge-patch+json';
      await api.call(`/apis/${pluginGroup.value}/v1alpha1/plugins/${name}`, {
        method: 'PATCH',
        contentType,
        body: { spec },
      });
      notify('good', done);
    } catch (error) {
      notify('bad', toFailure(error).message);
    }
    setBusy(false);
  };
  return (
    <div class="line">
      {settingsSchemaOf(name) === undefined ? null : (
        <a class="button" href={objectHref(`pluginsettings.${pluginGroup.value}`, '', name, 'edit')}>
          Settings
        </a>
      )}
      <button
        type="button"
        class="button"
        disabled={isBusy || !isEnabled}
        onClick={() => void patch({ reload: String(browserClock.now()) }, `${name} is reloaded`)}
      >
        Reload
      </button>
      <button
        type="button"
        class="button"
        disabled={isBusy || isConsole}
        title={isConsole ? 'Without this plugin, the console would disappear.' : undefined}
        onClick={() => void patch({ enabled: !isEnabled }, `${name} is ${isEnabled ? 'disabled' : 'enabled'}`)}
      >
        {isEnabled ? 'Disable' : 'Enable'}
      </button>
      {isInstalled ? <UninstallButton name={name} /> : null}
    </div>
  );
}

/**
 * Shows the conditions that are not True, the kinds whose indexes are being built, and the deletions that wait for the
 * plugin.
 */
function Indexing({ plugin }: { readonly plugin: ApiObject }) {
  const status = isObject(plugin.status) ? plugin.status : {};
  const indexing = isArray(status.indexing) ? status.indexing.filter(isObject) : [];
  const held = isArray(status.heldBack) ? status.heldBack.filter(isObject) : [];
  return (
    <ul class="plain-list">
      {conditionsOf(plugin)
        .filter((each) => each.status !== 'True' && each.message !== '' && each.message !== status.message)
        // While kinds are being indexed, each kind has a line below, so the condition IndexesBuilt is left out.
        .filter((each) => each.type !== 'IndexesBuilt' || indexing.length === 0)
        .map((each) => (
          <li key={each.type}>
            <Badge tone="quiet">{each.type}</Badge> <Text value={each.message} />
          </li>
        ))}
      {indexing.map(({ kind, indexed }) => (
        <li key={textOf(kind)}>
          The indexes of {textOf(kind)} are being built: {formatCount(numberOf(indexed))} objects so far.
        </li>
      ))}
      {held.map(({ kind, finalizer, count, names }) => (
        <li key={`${textOf(kind)} ${textOf(finalizer)}`}>
          {numberOf(count) === 1 ? '1 deleted object' : `${formatCount(numberOf(count))} deleted objects`} of{' '}
          {textOf(kind)} {numberOf(count) === 1 ? 'waits' : 'wait'} for <code>{textOf(finalizer)}</code>:{' '}
          <Text value={textsIn(names).join(', ')} length={200} />
        </li>
      ))}
    </ul>
  );
}

/** Shows the pages, panels, columns and buttons that the plugin adds to the console. */
function Added({ name }: { readonly name: string }) {
  const added = contributions.value.filter(({ plugin }) => plugin === name);
  if (added.length === 0) return null;
  return (
    <p class="muted">
      Adds to the console:{' '}
      {added.map((each, index) => (
        <span key={`${each.point} ${each.name}`}>
          {index === 0 ? '' : ', '}
          {each.point === 'pages' ? (
            <>
              the page <a href={hrefOf(['pages', name, each.name])}>{each.title}</a>
            </>
          ) : (
            `the ${each.point.slice(0, -1)} “${each.title}” of ${each.kind}`
          )}
        </span>
      ))}
    </p>
  );
}
