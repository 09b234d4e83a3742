import { createManager, controller, createClient } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { demoPerson } from '../support/models/demo-person.ts';
import { KubectlSetup } from './kubectl-setup.ts';
import { letter } from '../support/models/models.ts';

describe('events of controllers in kubectl [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  /** Runs controllers that emit events, until the controllers have no work. */
  async function work(client: Client, name: string): Promise<void> {
    const persons = controller(demoPerson, {
      name,
      reconcile({ object, event }) {
        if (object.metadata.name !== 'ann') return;
        event('Normal', 'Greeted', `${name} said hello`);
        event('Normal', 'Greeted', `${name} said hello`);
        event('Warning', 'Alone', `${name} met nobody`);
      },
    });
    const letters = controller(letter, {
      name: `${name}-letters`,
      reconcile: ({ event }) => event('Normal', 'Posted', `${name} took it along`),
    });
    const manager = createManager({ client, controllers: [persons, letters], clock: kubectl.clock });
    const stop = new AbortController();
    const stopped = manager.run(stop.signal);
    const ran = (): boolean => manager.runs(name).length === 2 && manager.runs(`${name}-letters`).length === 1;
    await eventually(() => ran() && manager.isIdle());
    stop.abort();
    await stopped;
  }

  it('describe shows events of cluster-scoped and namespaced objects, from controllers in process and over HTTP [compat events]', async () => {
    const { server } = kubectl;
    await server.api.client.create(letter, {
      metadata: { name: 'x', namespace: 'default' },
      spec: { text: 'x' },
    } as never);
    await work(server.api.client, 'local');
    await work(createClient(server.api.url, { clock: kubectl.clock }), 'remote');
    const { stdout } = await kubectl.run('describe', 'person', 'ann');
    const shown = stdout.slice(stdout.indexOf('Events:')).replaceAll(/ {2,}/g, ' | ');
    for (const who of ['local', 'remote']) {
      expect(shown).to.match(new RegExp(`Normal \\| Greeted \\| .*x2 over .* \\| ${who} \\| ${who} said hello`));
      expect(shown).to.match(new RegExp(`Warning \\| Alone \\| .* \\| ${who} \\| ${who} met nobody`));
    }
    const described = (await kubectl.run('describe', 'letter', 'x', '-n', 'default')).stdout;
    expect(described).to.match(/Posted .* local-letters +local took it along/);
    expect((await kubectl.run('describe', 'person', 'bob')).stdout).to.match(/Events: +<none>/);
    const events = (await kubectl.run('events', '--for', 'person/ann')).stdout;
    expect(events).to.match(/Warning +Alone +Person\/ann +remote met nobody/);
  });
});
