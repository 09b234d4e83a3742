import { expect } from 'chai';
import { OwnerScenario } from './support/servers/owner-scenario.ts';
import type { Way } from './support/servers/owner-scenario.ts';
import { TestServer } from './support/servers/test-server.ts';

interface Case {
  readonly claim: string;
  readonly objects: readonly string[];
  /** The steps, each with the objects that exist after the garbage collection of the step. */
  readonly steps: readonly (readonly [step: string, left: readonly string[]])[];
  /** The changes (`~`) and deletions (`-`) that must occur in this order, possibly with others in between. */
  readonly order?: readonly string[];
}

// The test runs each case as an `OwnerScenario`. The expected results are those of Kubernetes' garbage collector.
const background: readonly Case[] = [
  {
    claim: 'without a policy, the owner is deleted at once, and its dependents afterwards',
    objects: ['a', 'b of a', 'c of b'],
    steps: [['delete a', []]],
    order: ['-a', '-b', '-c'],
  },
  {
    claim: 'a dependent that blocks the owner does not delay the deletion of the owner',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Background', ['b going of a! [hold]']],
      ['release b', []],
    ],
  },
  {
    claim: 'a dependent with another owner stays, and loses the reference',
    objects: ['a', 'b', 'c of a!,b!'],
    steps: [
      ['delete a Background', ['b', 'c of b!']],
      ['delete b Background', []],
    ],
  },
  {
    claim: 'dependents stay while finalizers keep the owner',
    objects: ['a [hold]', 'b of a'],
    steps: [
      ['delete a Background', ['a going [hold]', 'b of a']],
      ['release a', []],
    ],
    order: ['-a', '-b'],
  },
  {
    claim: 'the finalizers of a collected dependent decide about its own dependents',
    objects: ['a', 'b of a [orphan]', 'c of b', 'd of a [foregroundDeletion]', 'e of d!'],
    steps: [['delete a Background', ['c']]],
    order: ['-a', '~c', '-b'],
  },
  {
    claim: 'owners that own each other are deleted together',
    objects: ['a of b!', 'b of a!'],
    steps: [['delete a Background', []]],
  },
];

const foreground: readonly Case[] = [
  { claim: 'an owner without dependents is deleted', objects: ['a'], steps: [['delete a Foreground', []]] },
  {
    claim: 'blocking dependents are deleted before their owners, over several levels',
    objects: ['a', 'b of a!', 'c of b!', 'd of c!'],
    steps: [['delete a Foreground', []]],
    order: ['-d', '-c', '-b', '-a'],
  },
  {
    claim: 'the owner waits for the finalizers of blocking dependents',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['release b', []],
    ],
    order: ['-b', '-a'],
  },
  {
    claim: 'a dependent that does not block is deleted, and the owner does not wait for it',
    objects: ['a', 'b of a [hold]'],
    steps: [['delete a Foreground', ['b going of a [hold]']]],
  },
  {
    claim: 'the owner does not wait for a dependent that no longer blocks',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['own b of a', ['b going of a [hold]']],
    ],
  },
  {
    claim: 'a dependent with another owner stays, and the owner waits only until the reference is removed',
    objects: ['a', 'b', 'c of a!,b'],
    steps: [['delete a Foreground', ['b', 'c of b']]],
    order: ['~c', '-a'],
  },
  {
    claim: 'a new dependent of a waiting owner is deleted, too, and the owner waits for it',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['create c of a! [hold]', ['a going [foregroundDeletion]', 'b going of a! [hold]', 'c going of a! [hold]']],
      ['release b', ['a going [foregroundDeletion]', 'c going of a! [hold]']],
      ['release c', []],
    ],
  },
  {
    claim: 'the owner also waits for its own finalizers',
    objects: ['a [hold]', 'b of a!'],
    steps: [
      ['delete a Foreground', ['a going [hold]']],
      ['release a', []],
    ],
    order: ['-b', '-a'],
  },
  {
    claim: 'a blocking dependent is deleted with its own dependents, independent of its finalizers',
    objects: ['a', 'b of a! [orphan]', 'c of b!'],
    steps: [['delete a Foreground', []]],
    order: ['-c', '-b', '-a'],
  },
  { claim: 'an owner of itself is deleted', objects: ['a of a!'], steps: [['delete a Foreground', []]] },
  {
    claim: 'two objects that own each other are deleted',
    objects: ['a of b!', 'b of a!'],
    steps: [['delete a Foreground', []]],
  },
  {
    claim: 'three objects that own each other in a cycle are deleted',
    objects: ['a of c!', 'b of a!', 'c of b!'],
    steps: [['delete b Foreground', []]],
  },
  {
    claim: 'a cycle of dependents is not deleted, and the owner does not wait for it',
    objects: ['a', 'b of a!,c!', 'c of a!,b!'],
    steps: [['delete a Foreground', ['b of c!', 'c of b!']]],
  },
  {
    claim: 'a cycle waits for a blocking dependent outside of the cycle',
    objects: ['a of b!', 'b of a!', 'c of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going of b! [foregroundDeletion]', 'c going of a! [hold]']],
      ['release c', []],
    ],
  },
];

const orphan: readonly Case[] = [
  { claim: 'an owner without dependents is deleted', objects: ['a'], steps: [['delete a Orphan', []]] },
  {
    claim: 'dependents stay, and lose the reference before the owner is deleted',
    objects: ['a', 'b of a!', 'c of a', 'd of b'],
    steps: [['delete a Orphan', ['b', 'c', 'd of b']]],
    order: ['~b', '-a'],
  },
  {
    claim: 'other references stay',
    objects: ['a', 'b', 'c of a,b!'],
    steps: [['delete a Orphan', ['b', 'c of b!']]],
  },
  {
    claim: 'references are removed also from dependents with unknown owners, or with a pending deletion',
    objects: ['a', 'b of a,x*', 'c of a [hold]'],
    steps: [
      ['delete c', ['a', 'b of a,x*', 'c going of a [hold]']],
      ['delete a Orphan', ['b of x*', 'c going [hold]']],
    ],
  },
  { claim: 'an owner of itself is deleted', objects: ['a of a'], steps: [['delete a Orphan', []]] },
  {
    claim: 'dependents lose the reference while finalizers keep the owner',
    objects: ['a [hold]', 'b of a'],
    steps: [
      ['delete a Orphan', ['a going [hold]', 'b']],
      ['release a', ['b']],
    ],
  },
];

const precedence: readonly Case[] = [
  {
    claim: 'finalizers of the object decide when the request has no policy',
    objects: ['a [orphan]', 'b of a', 'c [foregroundDeletion]', 'd of c!'],
    steps: [
      ['delete a', ['b', 'c [foregroundDeletion]', 'd of c!']],
      ['delete c', ['b']],
    ],
    order: ['~b', '-a', '-d', '-c'],
  },
  {
    claim: 'the policy of the request takes precedence over finalizers of the object',
    objects: ['a [orphan]', 'b of a', 'c [foregroundDeletion]', 'd of c!', 'e [orphan]', 'f of e!'],
    steps: [
      ['delete a Background', ['c [foregroundDeletion]', 'd of c!', 'e [orphan]', 'f of e!']],
      ['delete c Orphan', ['d', 'e [orphan]', 'f of e!']],
      ['delete e Foreground', ['d']],
    ],
    order: ['-a', '-b', '~d', '-c', '-f', '-e'],
  },
  {
    claim: 'a background deletion can be changed to a foreground deletion or an orphaning deletion',
    objects: ['a [hold]', 'b of a!', 'c [hold]', 'd of c'],
    steps: [
      ['delete a', ['a going [hold]', 'b of a!', 'c [hold]', 'd of c']],
      ['delete a Foreground', ['a going [hold]', 'c [hold]', 'd of c']],
      ['delete c', ['a going [hold]', 'c going [hold]', 'd of c']],
      ['delete c Orphan', ['a going [hold]', 'c going [hold]', 'd']],
    ],
  },
  {
    claim:
      'a foreground deletion does not change at a deletion without policy, and becomes a background deletion on request',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['delete a', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['delete a Background', ['b going of a! [hold]']],
    ],
  },
];

const references: readonly Case[] = [
  {
    claim: "an object with the owner's name and another UID is not the owner",
    objects: ['a', 'b of a?', 'c of a,a?'],
    steps: [['delete c', ['a']]],
  },
  {
    claim: 'a reference to an absent owner is removed when another owner exists',
    objects: ['a', 'b of a,a?'],
    steps: [['create x', ['a', 'b of a', 'x']]],
  },
  {
    claim: 'a dependent is kept while the kind of one of its owners is unknown, even if its other owners do not exist',
    objects: ['a', 'b of x*', 'c of a,x*'],
    steps: [['delete a', ['b of x*', 'c of a,x*']]],
  },
  {
    claim: 'a dependent that is created after the deletion of its owner is collected',
    objects: ['a'],
    steps: [
      ['delete a', []],
      ['create b of a', []],
    ],
  },
  {
    claim: 'a dependent whose only new owner is already deleted is collected',
    objects: ['a', 'b', 'c of b'],
    steps: [
      ['delete a', ['b', 'c of b']],
      ['own b of a', []],
    ],
  },
];

const table: Readonly<Record<string, readonly Case[]>> = { background, foreground, orphan, precedence, references };
const ways: readonly Way[] = ['body', 'query', 'client'];

describe('garbage collection', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  for (const [group, cases] of Object.entries(table)) {
    for (const [at, { claim, objects, steps, order }] of cases.entries()) {
      it(`leaves the expected objects (${group}): ${claim}`, async () => {
        for (const way of ways) {
          const scenario = await OwnerScenario.make(server, `${group}-${at}-${way}-`, objects);
          for (const [step, left] of steps) {
            await scenario.run(step, way);
            expect(await scenario.rows(), `after ${step}, by ${way}`).to.deep.equal(left);
          }
          const history = order === undefined ? [] : await scenario.history();
          expect(inOrder(history, order ?? []), `${order?.join(' ')} in ${history.join(' ')}`).to.equal(true);
          scenario.close();
        }
      });
    }
  }
});

/**
 * Returns true when the history has the changes and deletions of `order`, in this order. If an object has changed
 * several times, its last change counts.
 */
function inOrder(history: readonly string[], order: readonly string[]): boolean {
  const places = order.map((each) => (each.startsWith('~') ? history.lastIndexOf(each) : history.indexOf(each)));
  return places.every((place, at) => place >= 0 && place > (places[at - 1] ?? -1));
}
