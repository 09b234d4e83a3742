import { defineModel } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startOn } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';

const Event = defineModel({
  gvk: 'v1/Event',
  plural: 'events',
  scope: 'Namespaced',
  schema: { type: 'object', additionalProperties: true },
});

describe('a server that cannot start', () => {
  it('leaves no timers, even if stored objects gave its controllers work', async () => {
    const database = new SharedDatabase();
    const running = await startOn(database.replica(), { port: 0 });
    const involvedObject = { namespace: 'default' };
    await running.client.create(Event, { metadata: { name: 'late', namespace: 'default' }, involvedObject });
    const clock = new FakeClock();
    const store = database.replica();
    const port = Number(new URL(running.url).port);
    const failed = await startOn(store, { port, clock }).catch((error: unknown) => error);
    expect(failed).to.include({ code: 'EADDRINUSE' });
    expect(clock.pendingTimers).to.equal(0);
    await running.stop();
    await database.close();
  });
});
