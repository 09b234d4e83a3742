// A server in a separate process, which a test can kill: `node restart-server.js <database file>`. Prints its URL when
// ready.
import { startApiServer } from '@homeostat/apiserver';
import { Thing } from '../models/restart-model.ts';

const [file] = process.argv.slice(2);
const server = await startApiServer({ database: `sqlite:${file}`, port: 0 });
server.schemeManager.register(Thing);
await server.whenReady(Thing);
process.stdout.write(`${server.url}\n`);
