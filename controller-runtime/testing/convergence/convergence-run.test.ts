import { expect } from 'chai';
import { ApiError, descriptorOf, type WatchEvent } from '../../api/index.ts';
import { Person } from '../../api/person.fixture.ts';
import type { Client } from '../../client/client.ts';
import { runOnce } from './convergence-run.ts';
import { noFaults } from './fault-plan.ts';

describe('a run of a scenario', () => {
  let stops = 0;

  beforeEach(() => {
    stops = 0;
  });

  const run = (client: Pick<Client, 'list' | 'watch'>): Promise<unknown> =>
    runOnce({
      options: { controllers: [], models: [Person], scenario: async () => undefined },
      startServer: async () => ({
        client: client as Client,
        controllerClient: client as Client,
        isIdle: () => true,
        stop: async () => void (stops += 1),
      }),
      plan: noFaults,
      seed: 1,
    }).catch((error: unknown) => error);

  const list = async (): Promise<never> =>
    ({ apiVersion: 'v1', kind: 'PersonList', metadata: { resourceVersion: '1' }, items: [] }) as never;

  it('stops its server even if the list of a kind fails before the scenario begins', async () => {
    const failure = new ApiError('NotFound', `no ${descriptorOf(Person).plural}`);
    const watch = (): never => {
      throw new Error('nothing to watch');
    };
    expect(await run({ list: () => Promise.reject(failure), watch })).to.equal(failure);
    expect(stops).to.equal(1);
  });

  it('fails when the watch of a kind fails during the run', async () => {
    const failure = new ApiError('Expired', 'too old');
    // oxlint-disable-next-line require-yield -- the watch ends before its first event
    async function* watch(): AsyncGenerator<WatchEvent<never>> {
      throw failure;
    }
    expect(await run({ list, watch })).to.equal(failure);
    expect(stops).to.equal(1);
  });
});
