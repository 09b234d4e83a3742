import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CaseContext } from '../../measure/case.ts';
import { median } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import { residentMb, root, withServe } from '../../processes/served-command.ts';

const plugins = 50;
const kindsEach = 4;
const mostMs = 3_000;

/**
 * The maximum resident memory of a server without plugins, and the time for which it is idle before its memory is
 * measured.
 */
const mostMb = 90;
const idleMs = 10_000;
const mostStarts = 3;
const paths = ['/version', '/api', '/apis', '/openapi/v3', '/api/v1/namespaces', '/readyz'];

/**
 * Measures the time from the start of `homeostat serve` until all plugins have started, and the memory of a server
 * without plugins.
 */
export async function pluginStart({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const folders = await Promise.all(Array.from({ length: plugins }, (_, number) => createPlugin(folder, number)));
  let starts = 0;
  const serve = (loaded: readonly string[]) => (): Promise<Figures> =>
    start(join(folder, `plugins-${(starts += 1)}.db`), loaded);
  const { ours, limit } = await alternate(settings.rounds, { ours: serve(folders), limit: serve([]) });
  return [
    {
      name: `start with ${plugins} plugins of ${kindsEach} kinds each`,
      ours,
      limit,
      target: { text: `<= ${mostMs} ms`, isMet: ours.p50Ms <= mostMs },
      note: 'p50 is the time from the start of the process until the server is ready, with a new database',
    },
    await memoryRow('open', settings.rounds, folder),
    await memoryRow('required', settings.rounds, folder),
  ];
}

/**
 * Returns the row for the resident memory of `homeostat serve` without plugins, on a new database, after a few
 * requests.
 */
async function memoryRow(auth: 'open' | 'required', rounds: number, folder: string): Promise<Row> {
  const measured: number[] = [];
  const headers = { Authorization: 'Bearer a-token-of-the-administrator' };
  const token = join(folder, 'token');
  await writeFile(token, 'a-token-of-the-administrator', { mode: 0o600 });
  const args = auth === 'open' ? ['--auth', 'open'] : ['--token-file', token];
  for (let round = 0; round < Math.min(rounds, mostStarts); round += 1) {
    const file = join(folder, `memory-${auth}-${round.toString()}.db`);
    const resident = await withServe(file, args, async ({ url }, pid) => {
      for (const path of paths) await (await fetch(url + path, { headers })).arrayBuffer();
      await sleep(idleMs);
      return residentMb(pid);
    });
    measured.push(resident);
  }
  const mb = median(measured);
  const target = { text: `${mb.toFixed(0)} <= ${mostMb.toString()} MB`, isMet: mb <= mostMb };
  return {
    name: `serve, ${auth}, resident memory`,
    target,
    note: `resident memory of a server without plugins, ${(idleMs / 1000).toString()} s after its last request`,
  };
}

/** Creates a plugin whose kinds each have indexes and a controller. Returns its folder. */
async function createPlugin(parent: string, number: number): Promise<string> {
  const name = `plugin-${number}`;
  const folder = join(parent, name);
  await mkdir(join(folder, 'dist'), { recursive: true });
  await writeFile(
    join(folder, 'plugin.yaml'),
    `name: ${name}\nversion: 0.1.0\nrequires: ^0.1.0\ngroup: ${name}.example.com\n`,
  );
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version: '0.1.0', type: 'module' }));
  await writeFile(join(folder, 'dist/index.js'), source(`${name}.example.com`));
  return folder;
}

function source(group: string): string {
  return `import { controller, defineModel, definePlugin } from 'homeostat';
const text = { type: 'string', maxLength: 100 };
const models = Array.from({ length: ${kindsEach} }, (_, number) => defineModel({
  gvk: '${group}/v1/Kind' + number, plural: 'kind' + number + 's', singular: 'kind' + number,
  schema: { type: 'object', required: ['spec'], properties: {
    spec: { type: 'object', required: ['name'], properties: { name: text, size: { type: 'integer', minimum: 0 }, tags: { type: 'array', items: text } } },
    status: { type: 'object', properties: { phase: text } },
  } },
  indexes: ['spec.name', 'spec.size'],
}));
export default definePlugin({ models, controllers: models.map((model) => controller(model, { reconcile() {} })) });
`;
}

function start(database: string, folders: readonly string[]): Promise<Figures> {
  const args = folders.flatMap((folder) => ['--plugin', folder]);
  const startMs = performance.now();
  return withServe(database, ['--auth', 'open', ...args], (line) => {
    const readyMs = performance.now() - startMs;
    const started = line.plugins?.filter(({ phase }) => phase === 'Started').length;
    if (started !== folders.length)
      throw new Error(`${started} of ${folders.length} plugins have started: ${JSON.stringify(line)}`);
    return { opsPerSecond: (Math.max(1, folders.length) / readyMs) * 1000, p50Ms: readyMs };
  });
}
