import { Metrics } from '@homeostat/controller-runtime/telemetry';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { Context } from 'koa';
import { Fairness } from '../../fairness/fairness.ts';
import { authenticated } from '../../identity/user-info.ts';
import { createPerson, createPersonCache, personEntry } from '../../index/person.fixture.ts';
import { askForSeats } from './fair-share.ts';
import type { FairShareParts } from './fair-share.ts';

const cache = createPersonCache('Namespaced');
for (const [namespace, count] of Object.entries({ small: 1, large: 2_500 })) {
  for (let at = 0; at < count; at += 1) {
    const object = createPerson({ namespace, name: `p-${at}` });
    cache.put(personEntry(cache, object), `${namespace}/p-${at}`);
  }
}

describe('the seats of a request', () => {
  const fairness = new Fairness({ clock: new FakeClock(), metrics: new Metrics() });
  const parts: FairShareParts = {
    fairness,
    proxies: { addressOf: () => '127.0.0.1' } as unknown as FairShareParts['proxies'],
    connections: { isStopping: false, know: () => undefined },
    table: {
      sizeOf: (_group, _version, _plural, { namespace } = {}) =>
        namespace === undefined ? cache.size : cache.sizeIn(namespace),
    },
  };

  async function seatsOf(verb: string, namespace: string | undefined): Promise<string> {
    const asked = {
      isResource: true,
      verb,
      group: 'people.example.com',
      version: 'v1',
      resource: 'persons',
      namespace,
    };
    const state = { asked, query: {}, caller: authenticated({ username: 'ann', uid: '1', groups: [] }) };
    const { level, cost } = await askForSeats({ state, req: {} } as unknown as Context, parts);
    const [name] = Object.entries(fairness.levels).find(([, each]) => each === level) ?? [];
    return `${cost} of ${name}`;
  }

  it('depend on the number of objects in the namespace of a list, once the index of namespaces is built', async () => {
    expect(await seatsOf('list', 'small')).to.equal('3 of bulk');
    expect(cache.index('metadata.namespace')?.values.size).to.equal(2_501);
    expect(await seatsOf('list', undefined)).to.equal('3 of bulk');
    expect(await seatsOf('list', 'large')).to.equal('3 of bulk');
    expect(await seatsOf('list', 'small')).to.equal('1 of people');
    expect(await seatsOf('list', 'empty')).to.equal('1 of people');
  });
});
