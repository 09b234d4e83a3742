// A controller in a process of its own: node dist/main.js [url of the server] [seconds of the lease].
import { createClient, createManager } from '@homeostat/controller-runtime';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { digestController } from './digest-controller.ts';
import { logger } from './logger.ts';

const [url = 'http://127.0.0.1:8700', seconds = '15'] = process.argv.slice(2);
const worker = `${hostname()}_${randomUUID()}`;
const leaseDurationMs = Number(seconds) * 1000;
const client = createClient(url, { logger });
const manager = createManager({
  client,
  controllers: [digestController(worker)],
  leaderElection: {
    name: 'digests',
    identity: worker,
    // The three times have the same proportions as the defaults, 15 s, 10 s and 2 s. With shorter times, another
    // process takes over from a dead leader sooner.
    leaseDurationMs,
    renewDeadlineMs: (leaseDurationMs * 2) / 3,
    retryPeriodMs: (leaseDurationMs * 2) / 15,
    observe: ({ isLeader }) => process.stdout.write(`${worker} ${isLeader ? 'leads' : 'does not lead'}\n`),
  },
  logger,
});

// An orderly stop releases the lease, so that another process leads at its next attempt, before the lease would expire.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
// `run` rejects when the lease is lost. The process then ends with an error, and its supervisor starts another.
await manager.run(stop.signal);
