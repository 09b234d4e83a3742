// A server in a separate process, which a test can kill: `node elected-server.js <database> <name>`. Its controller
// uses leader election, and greets persons with `<name>`. Prints its URL when ready.
import { controller } from '@homeostat/controller-runtime';
import { startTestServer } from 'homeostat/testing';
import { Person } from '../models/models.ts';

const [database = '', greeting = ''] = process.argv.slice(2);
const greeter = controller(Person, {
  name: 'greeter',
  reconcile: async ({ status }) => void (await status({ greeting })),
});
const server = await startTestServer({
  database,
  models: [Person],
  controllers: [greeter],
  leaderElection: { leaseDurationMs: '3s', renewDeadlineMs: '2s', retryPeriodMs: '200ms' },
});
process.stdout.write(`${server.url}\n`);
