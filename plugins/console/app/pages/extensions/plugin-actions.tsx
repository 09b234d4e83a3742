import { useState } from 'preact/hooks';
import { textOf } from '../../base/json.ts';
import type { ApiObject } from '../../base/object.ts';
import { toFailure } from '../../api/failure.ts';
import { keyOf } from '../../api/resources.ts';
import { notify } from '../../state/page-state.ts';
import { addedTo } from '../../state/plugins.ts';
import type { Contribution } from '../../state/plugins.ts';
import type { Place } from '../../state/place.ts';
import { api, may } from '../../state/session.ts';

/** The context that an action of a plugin gets. */
interface ActionContext {
  readonly object: ApiObject;
  /** Sends a GET to a path of the server, with the user's rights. Rejects with an Error when that fails. */
  readonly get: (path: string) => Promise<unknown>;
  /**
   * Sends a write to a path of the server, with the user's rights; a PATCH is a merge patch. Rejects with an Error when
   * that fails.
   */
  readonly send: (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) => Promise<unknown>;
}

interface ActionModule {
  run(context: ActionContext): unknown;
}

function isActionModule(module: unknown): module is ActionModule {
  return typeof module === 'object' && module !== null && 'run' in module && typeof module.run === 'function';
}

/** Shows the buttons of plugins for objects of this kind, except those whose action the user may not take. */
export function PluginActions({ place, object }: { readonly place: Place; readonly object: ApiObject }) {
  const { resource, name } = place;
  return (
    <>
      {addedTo(keyOf(resource), 'actions')
        .filter(({ verb }) => may(verb, resource, name))
        .map((action) => (
          <ActionButton key={`${action.plugin}/${action.name}`} action={action} object={object} />
        ))}
    </>
  );
}

function ActionButton({ action, object }: { readonly action: Contribution; readonly object: ApiObject }) {
  const [isBusy, setBusy] = useState(false);
  const press = async (): Promise<void> => {
    setBusy(true);
    try {
      notify('good', textOf(await run(action, object)) || `${action.title}: done`);
    } catch (error) {
      notify('bad', `${action.title}: ${toFailure(error).message}`);
    }
    setBusy(false);
  };
  return (
    <button
      type="button"
      class="button"
      disabled={isBusy}
      title={`From the plugin ${action.plugin}`}
      onClick={() => void press()}
    >
      {action.title}
    </button>
  );
}

async function run({ plugin, module: path }: Contribution, object: ApiObject): Promise<unknown> {
  const module: unknown = await import(/* @vite-ignore */ api.url(`/plugins/${plugin}/assets/${path}`));
  if (!isActionModule(module)) throw new Error(`${path} exports no function "run"`);
  const send: ActionContext['send'] = async (method, wanted, body) => {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    return (await api.call(wanted, { method, body, contentType })).body;
  };
  return module.run({ object, get: async (wanted) => api.get(wanted), send });
}
