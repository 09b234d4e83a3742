// Runs the benchmarks named on the command line, or all: `npm run bench -- [--quick] [--rounds n] [--objects n] [--only text] [case]...`
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Case } from './case.ts';
import { apply } from './cases/apply.ts';
import { authorization } from './cases/authorization.ts';
import { cel } from './cases/cel.ts';
import { commandLine, create } from './cases/command-line.ts';
import { consolePages } from './cases/console.ts';
import { cpu } from './cases/cpu.ts';
import { definitions } from './cases/definitions.ts';
import { endpoints } from './cases/endpoints.ts';
import { engines } from './cases/engines.ts';
import { etcd } from './cases/etcd.ts';
import { httpCreate } from './cases/http-create.ts';
import { httpGet } from './cases/http-get.ts';
import { httpUpdate } from './cases/http-update.ts';
import { identities } from './cases/identities.ts';
import { inProcess } from './cases/in-process.ts';
import { informer } from './cases/informer.ts';
import { listPage } from './cases/list-page.ts';
import { million } from './cases/million.ts';
import { owners } from './cases/owners.ts';
import { pluginStart } from './cases/plugins.ts';
import { postgresServer } from './cases/postgres-server.ts';
import { postgresWrites } from './cases/postgres-writes.ts';
import { reconciles } from './cases/reconciles.ts';
import { registration } from './cases/registration.ts';
import { replicas } from './cases/replicas.ts';
import { sqlite } from './cases/sqlite.ts';
import { stalls } from './cases/stalls.ts';
import { runs } from './cases/runs.ts';
import { security } from './cases/security.ts';
import { startUpOnServers } from './cases/start-up-on-servers.ts';
import { startUp } from './cases/start-up.ts';
import { watchFanOut } from './cases/watch-fan-out.ts';
import { webhooks } from './cases/webhooks.ts';
import { workers } from './cases/workers.ts';
import { workQueue } from './cases/work-queue.ts';
import { describeMachine } from './machine.ts';
import { formatTable } from './result-table.ts';
import type { Row } from './result-table.ts';
import { fullSettings, quickSettings } from './settings.ts';
import { temporaryFolder } from './temporary-folder.ts';

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
if (unknown.length > 0) throw new Error(`no case ${unknown.join(', ')}: there are ${Object.keys(cases).join(', ')}`);

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

/** @throws Error for text that is no whole number from 1 to `most` */
function readNumber(name: string, text: string, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw new Error(`--${name} ${text}: must be a whole number from 1 to ${most.toString()}`);
}
