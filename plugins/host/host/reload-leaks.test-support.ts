// A program that reloads a plugin a hundred times, and prints as JSON the handles and objects of the process before and
// after. It has a process of its own, because counting objects takes time in proportion to the heap, which is large
// where many test files run.
import { startApiServer } from '@homeostat/apiserver';
import { eventually } from '@homeostat/controller-runtime/testing';
import { queryObjects } from 'node:v8';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from './plugin-host.ts';
import type { PluginStatus } from './plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { PluginRun } from '../lifecycle/plugin-run.ts';

export interface ReloadLeaks {
  readonly before: Living;
  readonly after: Living;
  readonly statuses: readonly PluginStatus[];
}

/** The handles and objects that remain after a garbage collection. */
interface Living {
  readonly handles: string;
  /**
   * The numbers of objects, by type. The number of bytes would not show a leak, because the server caches the last read
   * objects.
   */
  readonly objects: Readonly<Record<string, number>>;
}

const index = new URL('../index.js', import.meta.url).href;
const fixture = new URL('../widget.fixture.js', import.meta.url).href;

const main = `import { controller, definePlugin, route, ServerResponse } from '${index}';
  import { widgetModel } from '${fixture}';
  export default definePlugin({
    start({ schemeManager, controllers, endpoints, signal, client }) {
      const model = widgetModel();
      schemeManager.register(model);
      const cleanup = async () => undefined;
      controllers.add(controller(model, { reconcile: async () => undefined, cleanup }));
      endpoints.add(route('api.example.com/v1').GET('/hello', () => ServerResponse.ok().json({})).build());
      const timer = setInterval(() => undefined, 1000);
      signal.addEventListener('abort', () => clearInterval(timer));
      void (async () => { for await (const _ of client.watch(model, { signal })); })().catch(() => undefined);
    },
  });`;
const declared = 'apiVersion: widgets.example.com/v1\nkind: Widget\nmetadata: { name: w }\nspec: { size: 1 }\n';

// Counts functions, because everything that a plugin could leave behind has functions.
async function living(): Promise<Living> {
  await new Promise((resolve) => setImmediate(resolve));
  const counts = [Function, PluginRun].map((type) => [type.name, queryObjects(type, { format: 'count' })] as const);
  return { handles: process.getActiveResourcesInfo().toSorted().join(), objects: Object.fromEntries(counts) };
}

async function reloadHundredTimes(): Promise<ReloadLeaks> {
  // The history window is short: the server keeps its changes in memory, where they would look like a leak.
  const retention = { minAgeMs: 1000, minChanges: 10, maxBytes: 65_536 };
  const server = await startApiServer({ database: 'memory:', port: 0, retention });
  const host = new PluginHost({ server });
  const idle = async (): Promise<unknown> =>
    eventually(() => host.isIdle(), { describe: () => JSON.stringify(host.statuses()) });
  await host.addFolder(await makePlugin('p', main, { 'resources/extensions/w.yaml': declared }));
  await host.start();
  await idle();
  let reloads = 0;
  const reload = async (times: number): Promise<void> => {
    for (const last = reloads + times; reloads < last;) {
      reloads += 1;
      const patch = { spec: { reload: String(reloads) } };
      await server.client.patch(pluginKind('homeostat.internal'), 'p', { type: 'merge', patch });
      await idle();
    }
  };
  await reload(10);
  const before = await living();
  await reload(100);
  const after = await living();
  const statuses = host.statuses();
  await host.stop();
  await server.stop();
  await removeFolders();
  return { before, after, statuses };
}

console.log(JSON.stringify(await reloadHundredTimes()));
