// Runs the benchmarks named on the command line, or all: `npm run bench -- [--quick] [--rounds n] [--only text] [case]...`
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Case } from './case.ts';
import { apply } from './cases/apply.ts';
import { authorization } from './cases/authorization.ts';
import { cel } from './cases/cel.ts';
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
  'work-queue': workQueue,
  authorization,
  webhooks,
  definitions,
  reconciles,
  runs,
  owners,
  stalls,
  cel,
  security,
  cpu,
  console: consolePages,
};

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean' }, rounds: { type: 'string' }, only: { type: 'string' } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !Object.hasOwn(cases, name));
if (unknown.length > 0) throw new Error(`no case ${unknown.join(', ')}: there are ${Object.keys(cases).join(', ')}`);

const { only = '' } = values;
const usual = values.quick === true ? quickSettings : fullSettings;
const settings = values.rounds === undefined ? usual : { ...usual, rounds: readRounds(values.rounds) };
const root = temporaryFolder();
const rows: Row[] = [];
for (const [name, run] of Object.entries(cases)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  console.error(`${name} ...`);
  const folder = join(root, name);
  mkdirSync(folder);
  rows.push(...(await run({ settings, folder, only })));
}
console.log(`\n${describeMachine(root)}${values.quick === true ? '; --quick: the figures mean nothing' : ''}\n`);
console.log(formatTable(rows));

/** @throws Error for text that is no whole number from 1 to 1000 */
function readRounds(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds >= 1 && rounds <= 1000) return rounds;
  throw new Error(`--rounds ${text}: must be a whole number from 1 to 1000`);
}
