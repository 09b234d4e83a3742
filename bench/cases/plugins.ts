import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CaseContext } from '../case.ts';
import type { Figures } from '../figures.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const command = join(root, 'plugins/host/bin/homeostat.js');

const plugins = 50;
const kindsEach = 4;
const mostMs = 3_000;

/** How long does `homeostat serve` take until all plugins have started, from the start of the process? */
export async function pluginStart({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const folders = await Promise.all(Array.from({ length: plugins }, (_, number) => createPlugin(folder, number)));
  let starts = 0;
  const serve = (loaded: readonly string[]) => (): Promise<Figures> =>
    start(join(folder, `plugins-${(starts += 1)}.db`), loaded);
  const { ours, limit } = await alternate(settings.rounds, { ours: serve(folders), limit: serve([]) });
  return [
    {
      name: `${plugins} plugins of ${kindsEach} kinds`,
      ours,
      limit,
      target: { text: `<= ${mostMs} ms`, isMet: ours.p50Ms <= mostMs },
      note: 'p50 is the time from the start of the process to ready, with a new database',
    },
  ];
}

/** A plugin with indexes, and a controller for each of its kinds. */
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

async function start(database: string, folders: readonly string[]): Promise<Figures> {
  const args = folders.flatMap((folder) => ['--plugin', folder]);
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    [command, 'serve', '--auth', 'open', '--port', '0', '--database', `sqlite:${database}`, ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const entry = JSON.parse(line) as {
        readonly msg: string;
        readonly plugins?: readonly { readonly phase: string }[];
      };
      if (entry.msg !== 'ready') continue;
      const readyMs = performance.now() - startMs;
      const started = entry.plugins?.filter(({ phase }) => phase === 'Started').length;
      if (started !== folders.length) throw new Error(`${started} of ${folders.length} plugins have started: ${line}`);
      return { opsPerSecond: (Math.max(1, folders.length) / readyMs) * 1000, p50Ms: readyMs };
    }
    throw new Error('homeostat serve ended before it was ready');
  } finally {
    child.stdout.resume();
    child.kill();
    await exited;
  }
}
