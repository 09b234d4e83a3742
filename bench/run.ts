// Runs the benchmarks that the command line names, or all of them:
// `npm run bench -- [--quick] [--rounds n] [--objects n] [--only text] [case]...`
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Case } from './measure/case.ts';
import { apply } from './cases/requests/apply.ts';
import { authorization } from './cases/requests/authorization.ts';
import { cel } from './cases/extensions/cel.ts';
import { commandLine, create } from './cases/commands/command-line.ts';
import { consolePages } from './cases/commands/console.ts';
import { cpu } from './cases/requests/cpu.ts';
import { definitions } from './cases/extensions/definitions.ts';
import { endpoints } from './cases/requests/endpoints.ts';
import { engines } from './cases/databases/engines.ts';
import { etcd } from './cases/databases/etcd.ts';
import { httpCreate } from './cases/requests/http-create.ts';
import { httpGet } from './cases/requests/http-get.ts';
import { httpUpdate } from './cases/requests/http-update.ts';
import { identities } from './cases/requests/identities.ts';
import { inProcess } from './cases/requests/in-process.ts';
import { informer } from './cases/controllers/informer.ts';
import { listPage } from './cases/requests/list-page.ts';
import { million } from './cases/server/million.ts';
import { owners } from './cases/controllers/owners.ts';
import { pluginStart } from './cases/commands/plugins.ts';
import { postgresServer } from './cases/databases/postgres-server.ts';
import { postgresWrites } from './cases/databases/postgres-writes.ts';
import { reconciles } from './cases/controllers/reconciles.ts';
import { registration } from './cases/extensions/registration.ts';
import { replicas } from './cases/databases/replicas.ts';
import { sqlite } from './cases/databases/sqlite.ts';
import { stalls } from './cases/server/stalls.ts';
import { runs } from './cases/controllers/runs.ts';
import { security } from './cases/requests/security.ts';
import { startUpOnServers } from './cases/databases/start-up-on-servers.ts';
import { startUp } from './cases/server/start-up.ts';
import { watchFanOut } from './cases/server/watch-fan-out.ts';
import { webhooks } from './cases/extensions/webhooks.ts';
import { workers } from './cases/server/workers.ts';
import { workQueue } from './cases/controllers/work-queue.ts';
import { describeMachine } from './measure/machine.ts';
import { formatTable } from './measure/result-table.ts';
import type { Row } from './measure/result-table.ts';
import { fullSettings, quickSettings } from './measure/settings.ts';
import { temporaryFolder } from './measure/temporary-folder.ts';

const cases: Readonly<Record<string, Case>> = {
  'http-create': httpCreate,
  'http-update': httpUpdate,
  apply,
  'http-get': httpGet,
  'list-page': listPage,
  endpoints,
  identities,
  'in-process': inProcess,
  sqlite,
  registration,
  'start-up': startUp,
  plugins: pluginStart,
  'watch-fan-out': watchFanOut,
  informer,
  'postgres-writes': postgresWrites,
  'postgres-server': postgresServer,
  replicas,
  'start-up-on-servers': startUpOnServers,
  etcd,
  engines,
  workers,
  'work-queue': workQueue,
  authorization,
  webhooks,
  definitions,
  reconciles,
  runs,
  owners,
  stalls,
  million,
  cel,
  security,
  cpu,
  console: consolePages,
  'command-line': commandLine,
  create,
};

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    rounds: { type: 'string' },
    objects: { type: 'string' },
    only: { type: 'string' },
  },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !Object.hasOwn(cases, name));
if (unknown.length > 0)
  throw new Error(`there is no case ${unknown.join(', ')}. The cases are ${Object.keys(cases).join(', ')}`);

const { only = '' } = values;
const usual = values.quick === true ? quickSettings : fullSettings;
const { rounds = String(usual.rounds), objects = String(usual.manyObjects) } = values;
const settings = {
  ...usual,
  rounds: readNumber('rounds', rounds, 1000),
  manyObjects: readNumber('objects', objects, 10_000_000),
};
const root = temporaryFolder();
const rows: Row[] = [];
const pages: string[] = [];
for (const [name, run] of Object.entries(cases)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  console.error(`${name} ...`);
  const folder = join(root, name);
  mkdirSync(folder);
  rows.push(...(await run({ settings, folder, only, addPage: (text) => pages.push(text) })));
}
console.log(`\n${describeMachine(root)}${values.quick === true ? '; --quick: the figures mean nothing' : ''}\n`);
console.log(formatTable(rows));
for (const page of pages) console.log(`\n${page}`);

/** Reads the number of an option. @throws Error for text that is not a whole number from 1 to `most` */
function readNumber(name: string, text: string, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw new Error(`--${name} ${text}: must be a whole number from 1 to ${most.toString()}`);
}
