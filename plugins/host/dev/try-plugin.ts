import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer, OwnedScheme } from '@homeostat/apiserver';
import { systemClock } from '@homeostat/controller-runtime';
import { ignoreNotFound } from '@homeostat/controller-runtime/api';
import type { GroupVersionKind, Model, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { checkDeclaredObjects } from '../declared/check-declared-objects.ts';
import type { CheckedObjects } from '../declared/check-declared-objects.ts';
import { withDeadline } from '../text/deadline.ts';
import { declarationError } from '../declared/declaration-mistake.ts';
import { isDeclaredObject } from '../declared/declared-object.ts';
import type { DeclaredObject } from '../declared/declared-object.ts';
import { hostVersion } from '../text/host-version.ts';
import { checkRequires } from '../manifest/manifest.ts';
import { withModelPlace } from '../text/model-place.ts';
import { checkPlugin, isPluginClass } from '../sdk/plugin.ts';
import { pluginDeadlineMs } from '../lifecycle/plugin-run.ts';
import type { PluginSource } from '../package/plugin-source.ts';

export interface TryPluginParts {
  /** The server on which the previous version runs: nothing is changed there. */
  readonly server: Pick<ApiServer, 'schemeManager' | 'client'>;
  readonly signal: AbortSignal;
}

const namespaceKind: GroupVersionKind = { group: '', version: 'v1', kind: 'Namespace' };

/**
 * Tries a new version of a plugin while the previous version runs. Registers the models of the new version at an empty
 * server in memory, and checks the declared objects of these kinds there. Checks declared objects of all other kinds at
 * the running server. The other kinds include those that a plugin class registers in its `start`: their objects are
 * checked against the models of the previous version. Rejects with the problem of the module or of a model, or with all
 * mistakes of declared objects, with file and line.
 */
export async function tryPlugin(source: PluginSource, parts: TryPluginParts): Promise<void> {
  checkRequires(source.manifest, hostVersion());
  const plugin = checkPlugin(await loadModule(source));
  const declarations = await source.declaredObjects();
  const unread = declarations.flatMap((each) => (isDeclaredObject(each) ? [] : [each]));
  const trial = await startApiServer({ ...trialOptions, serviceDomain: parts.server.schemeManager.serviceDomain });
  try {
    const own = trial.schemeManager.forOwner(source.manifest.name);
    const models = isPluginClass(plugin) ? [] : (plugin.models ?? []);
    const kinds = await registerAll(models, { own, trial }).catch((error: unknown) => {
      throw withModelPlace(error, models, source.folder);
    });
    const isOwn = ({ gvk }: DeclaredObject): boolean => kinds.some((kind) => isSameKind(kind, gvk));
    const objects = declarations.filter(isDeclaredObject);
    const judged = [
      await judgeOwn(objects.filter(isOwn), trial, parts),
      await judgeOthers(
        objects.filter((each) => !isOwn(each)),
        { ...parts, absentOwner: isPluginClass(plugin) ? undefined : source.manifest.name },
      ),
    ];
    const mistakes = [...unread, ...judged.flatMap((each) => each.mistakes)];
    if (mistakes.length > 0) throw declarationError(mistakes);
  } finally {
    await trial.stop();
  }
}

async function registerAll(
  models: readonly Model[],
  { own, trial }: { readonly own: OwnedScheme; readonly trial: ApiServer },
): Promise<readonly GroupVersionKind[]> {
  for (const model of models) own.register(model);
  const kinds = own.registered().map(({ descriptor }) => descriptor);
  await Promise.all(kinds.map(async (kind) => trial.whenReady(kind)));
  return kinds;
}

const trialOptions = { database: 'memory:', port: 0 } as const;

async function loadModule(source: PluginSource): Promise<unknown> {
  const what = 'loading its module';
  return withDeadline(async () => source.load(), { what, timeoutMs: pluginDeadlineMs, clock: systemClock });
}

async function judgeOwn(
  objects: readonly DeclaredObject[],
  trial: ApiServer,
  { server, signal }: TryPluginParts,
): Promise<CheckedObjects> {
  for (const namespace of new Set(objects.flatMap(({ object }) => object.metadata.namespace ?? [])))
    await copyNamespace(namespace, server, trial);
  const lookup = (gvk: GroupVersionKind): ModelDescriptor | undefined => trial.schemeManager.lookup(gvk)?.descriptor;
  return checkDeclaredObjects(objects, { client: trial.client, lookup, signal });
}

/**
 * Creates a namespace at the server in memory, `to`, if the running server has it. If the running server lacks it, the
 * check reports each object in this namespace as a mistake.
 */
async function copyNamespace(name: string, from: TryPluginParts['server'], to: ApiServer): Promise<void> {
  const model = from.schemeManager.lookup(namespaceKind)?.descriptor;
  if (model === undefined) return;
  const [source, copy] = await Promise.all(
    [from, to].map(async ({ client }) => client.get(model, name).catch(ignoreNotFound)),
  );
  if (source !== undefined && copy === undefined) await to.client.create(model, { metadata: { name } });
}

interface OthersParts extends TryPluginParts {
  /** The plugin whose kinds count as not registered, because its new version no longer declares them. */
  readonly absentOwner: string | undefined;
}

async function judgeOthers(
  objects: readonly DeclaredObject[],
  { server, signal, absentOwner }: OthersParts,
): Promise<CheckedObjects> {
  const lookup = (gvk: GroupVersionKind): ModelDescriptor | undefined => {
    const found = server.schemeManager.lookup(gvk);
    return found === undefined || found.owner === absentOwner ? undefined : found.descriptor;
  };
  return checkDeclaredObjects(objects, { client: server.client, lookup, signal });
}

function isSameKind(a: GroupVersionKind, b: GroupVersionKind): boolean {
  return a.group === b.group && a.version === b.version && a.kind === b.kind;
}
