import { expect } from 'chai';
import { descriptorOf } from '@homeostat/controller-runtime/api';
import { Person } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const count = 300;

/** Returns a note of 4 KB that is different for each object and each round. */
function noteOf(number: number, round: number): string {
  return `${number} ${round} `.repeat(4096).slice(0, 4096);
}

function person(number: number, round: number): Person {
  return Object.assign(new Person(), {
    apiVersion: 'people.example.com/v1alpha1',
    kind: 'Person',
    metadata: { name: `p-${number}`, annotations: { note: noteOf(number, round) } },
    spec: { name: 'Ann', age: 30 },
  });
}

describe('compacted memory', () => {
  it('has the last state of each object after five rounds of writes [slow]', async () => {
    // The history is short, so that the server compacts its memory many times.
    const server = await TestServer.start({ retention: { minAgeMs: 0, minChanges: 0, maxBytes: 512 * 1024 } });
    const { client } = server.api;
    const numbers = Array.from({ length: count }, (_, number) => number);
    await Promise.all(numbers.map((number) => client.create(descriptorOf(Person), person(number, 0))));
    for (let round = 1; round <= 5; round += 1) {
      const changed = numbers.filter((number) => number % 3 !== round % 3);
      await Promise.all(changed.map((number) => client.update(person(number, round))));
    }
    const { items } = await client.list(Person, {});
    const found = new Map(items.map(({ metadata }) => [metadata.name, metadata.annotations?.['note']]));
    for (const number of numbers) {
      const last = number % 3 === 5 % 3 ? 4 : 5;
      expect(found.get(`p-${number}`) === noteOf(number, last), `p-${number}`).to.equal(true);
    }
    await server.stop();
  });
});
