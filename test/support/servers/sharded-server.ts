// A server in a separate process, which a test can kill and suspend: `node sharded-server.js <database> <name>`. Its
// controller has 16 shards. It starts to greet each person with `<name>`, and finishes the greeting half a second
// later. Prints its URL when ready.
import { controller } from '@homeostat/controller-runtime';
import { setTimeout as pause } from 'node:timers/promises';
import { silentLogger, startTestServer } from 'homeostat/testing';
import { Person } from '../models/models.ts';

const [database = '', name = ''] = process.argv.slice(2);
const greeter = controller(Person, {
  name: 'greeter',
  shards: 16,
  reconcile: async ({ object, status }) => {
    if (object.status?.greeting?.startsWith('done') === true) return;
    await status({ greeting: `begun by ${name}` });
    await pause(500);
    await status({ greeting: `done by ${name}` });
  },
});
const server = await startTestServer({
  database,
  models: [Person],
  controllers: [greeter],
  leaderElection: { leaseDurationMs: '3s', renewDeadlineMs: '2s', retryPeriodMs: '200ms' },
  logger: silentLogger,
});
process.stdout.write(`${server.url}\n`);
