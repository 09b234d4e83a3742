import { expect } from 'chai';
import { OwnerScenario } from './support/servers/owner-scenario.ts';
import type { Way } from './support/servers/owner-scenario.ts';
import { TestServer } from './support/servers/test-server.ts';

interface Case {
  readonly claim: string;
  readonly objects: readonly string[];
  /** The steps, and the state after everything has settled. */
  readonly steps: readonly (readonly [step: string, left: readonly string[]])[];
  /** The changes (`~`) and deletions (`-`) that must occur in this order, possibly with others in between. */
  readonly order?: readonly string[];
}

// Each case is an `OwnerScenario`. The behaviour is that of Kubernetes' garbage collector and of its deletions.
const background: readonly Case[] = [
  {
    claim: 'without a policy the owner goes at once, and its dependents after it',
    objects: ['a', 'b of a', 'c of b'],
    steps: [['delete a', []]],
    order: ['-a', '-b', '-c'],
  },
  {
    claim: 'what blocks the owner does not hold it up',
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
    claim: 'what is collected continues as its own finalizers say',
    objects: ['a', 'b of a [orphan]', 'c of b', 'd of a [foregroundDeletion]', 'e of d!'],
    steps: [['delete a Background', ['c']]],
    order: ['-a', '~c', '-b'],
  },
  { claim: 'owners in a circle go together', objects: ['a of b!', 'b of a!'], steps: [['delete a Background', []]] },
];

const foreground: readonly Case[] = [
  { claim: 'an owner without dependents goes', objects: ['a'], steps: [['delete a Foreground', []]] },
  {
    claim: 'dependents that block go before their owners, over several levels',
    objects: ['a', 'b of a!', 'c of b!', 'd of c!'],
    steps: [['delete a Foreground', []]],
    order: ['-d', '-c', '-b', '-a'],
  },
  {
    claim: 'the owner waits for the finalizers of what blocks it',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['release b', []],
    ],
    order: ['-b', '-a'],
  },
  {
    claim: 'a dependent that does not block is deleted, and not waited for',
    objects: ['a', 'b of a [hold]'],
    steps: [['delete a Foreground', ['b going of a [hold]']]],
  },
  {
    claim: 'a dependent that no longer blocks is not waited for',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['own b of a', ['b going of a [hold]']],
    ],
  },
  {
    claim: 'a dependent with another owner stays, and loses the reference that the owner waits for',
    objects: ['a', 'b', 'c of a!,b'],
    steps: [['delete a Foreground', ['b', 'c of b']]],
    order: ['~c', '-a'],
  },
  {
    claim: 'what comes to depend on an owner that waits is deleted as well, and waited for',
    objects: ['a', 'b of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going [foregroundDeletion]', 'b going of a! [hold]']],
      ['create c of a! [hold]', ['a going [foregroundDeletion]', 'b going of a! [hold]', 'c going of a! [hold]']],
      ['release b', ['a going [foregroundDeletion]', 'c going of a! [hold]']],
      ['release c', []],
    ],
  },
  {
    claim: 'finalizers of the owner itself hold it as well',
    objects: ['a [hold]', 'b of a!'],
    steps: [
      ['delete a Foreground', ['a going [hold]']],
      ['release a', []],
    ],
    order: ['-b', '-a'],
  },
  {
    claim: 'what is waited for takes its own dependents along, whatever its finalizers say',
    objects: ['a', 'b of a! [orphan]', 'c of b!'],
    steps: [['delete a Foreground', []]],
    order: ['-c', '-b', '-a'],
  },
  { claim: 'an owner of itself goes', objects: ['a of a!'], steps: [['delete a Foreground', []]] },
  { claim: 'two in a circle go', objects: ['a of b!', 'b of a!'], steps: [['delete a Foreground', []]] },
  {
    claim: 'three in a circle go',
    objects: ['a of c!', 'b of a!', 'c of b!'],
    steps: [['delete b Foreground', []]],
  },
  {
    claim: 'a circle of dependents keeps itself, and is not waited for',
    objects: ['a', 'b of a!,c!', 'c of a!,b!'],
    steps: [['delete a Foreground', ['b of c!', 'c of b!']]],
  },
  {
    claim: 'a circle waits for what blocks it from outside',
    objects: ['a of b!', 'b of a!', 'c of a! [hold]'],
    steps: [
      ['delete a Foreground', ['a going of b! [foregroundDeletion]', 'c going of a! [hold]']],
      ['release c', []],
    ],
  },
];

const orphan: readonly Case[] = [
  { claim: 'an owner without dependents goes', objects: ['a'], steps: [['delete a Orphan', []]] },
  {
    claim: 'dependents stay, and lose the reference before the owner goes',
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
    claim: 'references go whatever else is known of the dependents',
    objects: ['a', 'b of a,x*', 'c of a [hold]'],
    steps: [
      ['delete c', ['a', 'b of a,x*', 'c going of a [hold]']],
      ['delete a Orphan', ['b of x*', 'c going [hold]']],
    ],
  },
  { claim: 'an owner of itself goes', objects: ['a of a'], steps: [['delete a Orphan', []]] },
  {
    claim: 'dependents are let go while finalizers keep the owner',
    objects: ['a [hold]', 'b of a'],
    steps: [
      ['delete a Orphan', ['a going [hold]', 'b']],
      ['release a', ['b']],
    ],
  },
];

const precedence: readonly Case[] = [
  {
    claim: 'finalizers on the object decide where the request says nothing',
    objects: ['a [orphan]', 'b of a', 'c [foregroundDeletion]', 'd of c!'],
    steps: [
      ['delete a', ['b', 'c [foregroundDeletion]', 'd of c!']],
      ['delete c', ['b']],
    ],
    order: ['~b', '-a', '-d', '-c'],
  },
  {
    claim: 'the request decides over finalizers on the object',
    objects: ['a [orphan]', 'b of a', 'c [foregroundDeletion]', 'd of c!', 'e [orphan]', 'f of e!'],
    steps: [
      ['delete a Background', ['c [foregroundDeletion]', 'd of c!', 'e [orphan]', 'f of e!']],
      ['delete c Orphan', ['d', 'e [orphan]', 'f of e!']],
      ['delete e Foreground', ['d']],
    ],
    order: ['-a', '-b', '~d', '-c', '-f', '-e'],
  },
  {
    claim: 'a deletion in the background becomes one in the foreground, or an orphaning one',
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
      'a deletion in the foreground continues as it is when nothing else is asked for, and ends when the background is',
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
    claim: 'an owner of the same name with another UID is none',
    objects: ['a', 'b of a?', 'c of a,a?'],
    steps: [['delete c', ['a']]],
  },
  {
    claim: 'a reference to what is not there goes when another owner is',
    objects: ['a', 'b of a,a?'],
    steps: [['create x', ['a', 'b of a', 'x']]],
  },
  {
    claim: 'an owner of an unknown kind keeps its dependents, whatever the other owners are',
    objects: ['a', 'b of x*', 'c of a,x*'],
    steps: [['delete a', ['b of x*', 'c of a,x*']]],
  },
  {
    claim: 'a dependent that is created too late is collected',
    objects: ['a'],
    steps: [
      ['delete a', []],
      ['create b of a', []],
    ],
  },
  {
    claim: 'a dependent that gets its last owner after that is gone is collected',
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
      it(`${group}: ${claim}`, async () => {
        for (const way of ways) {
          const scenario = await OwnerScenario.make(server, `${group}-${at}-${way}-`, objects);
          for (const [step, left] of steps) {
            await scenario.run(step, way);
            expect(await scenario.rows(), `after ${step}, by ${way}`).to.deep.equal(left);
          }
          if (order === undefined) continue;
          const history = await scenario.history();
          expect(inOrder(history, order), `${order.join(' ')} in ${history.join(' ')}`).to.equal(true);
        }
      });
    }
  }
});

/** Returns true when the deletions, and the last change of each changed object, occurred in the given order. */
function inOrder(history: readonly string[], order: readonly string[]): boolean {
  const places = order.map((each) => (each.startsWith('~') ? history.lastIndexOf(each) : history.indexOf(each)));
  return places.every((place, at) => place >= 0 && place > (places[at - 1] ?? -1));
}
