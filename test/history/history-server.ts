// A program that runs a server: `node history-server.js <database URL> <port> [mutant]`. Prints its URL when ready.
import { plantMutant } from './mutants.ts';
import type { Mutant } from './mutants.ts';

const [database = '', port, mutant] = process.argv.slice(2);
if (mutant !== undefined) await plantMutant(mutant as Mutant);
// The packages are imported after the bug is planted, because `plantMutant` decides which of their files are loaded.
const { startApiServer } = await import('@homeostat/apiserver');
const { Cell } = await import('./cell-model.ts');
const server = await startApiServer({ database, port: Number(port), bookmarkIntervalMs: 100 });
server.schemeManager.register(Cell);
await server.whenReady(Cell);
process.stdout.write(`${server.url}\n`);
