import { expect } from 'chai';
import { person } from '../client/example-person.fixture.ts';
import type { Person } from '../client/example-person.fixture.ts';
import { coalesce } from './handler-event.ts';
import type { HandlerEvent } from './handler-event.ts';

const state = (text: string): Person => {
  const [uid = '', revision = ''] = text.split('@');
  const object = person('a', revision);
  return { ...object, metadata: { ...object.metadata, uid } };
};
const add = (object: string, initial = false): HandlerEvent<Person> => ({
  kind: 'add',
  key: 'a',
  object: state(object),
  initial,
});
const update = (previous: string, object: string): HandlerEvent<Person> => ({
  kind: 'update',
  key: 'a',
  previous: state(previous),
  object: state(object),
});
const gone = (object: string): HandlerEvent<Person> => ({ kind: 'delete', key: 'a', object: state(object) });

describe('coalesce', () => {
  const cases: readonly (readonly [string, HandlerEvent<Person>[], HandlerEvent<Person>[]])[] = [
    ['updates become one', [update('u@1', 'u@2'), update('u@2', 'u@3')], [update('u@1', 'u@3')]],
    ['an addition and its updates become an addition', [add('u@1', true), update('u@1', 'u@2')], [add('u@2', true)]],
    ['an addition and its deletion become nothing', [add('u@1'), gone('u@2')], []],
    ['an update and a deletion become a deletion', [update('u@1', 'u@2'), gone('u@3')], [gone('u@3')]],
    [
      'a deletion and a new object of the same name stay two events',
      [gone('u@2'), add('v@3')],
      [gone('u@2'), add('v@3')],
    ],
    [
      'an object that was created and deleted in between is left out',
      [update('u@1', 'u@2'), gone('u@3'), add('v@4'), gone('v@5')],
      [gone('u@1')],
    ],
    [
      'single events stay as they are',
      [{ kind: 'synced' }, add('u@1'), { kind: 'synced' }],
      [{ kind: 'synced' }, add('u@1'), { kind: 'synced' }],
    ],
  ];
  for (const [claim, events, expected] of cases) {
    it(claim, () => expect(coalesce(events)).to.deep.equal(expected));
  }

  it('keeps the first and the last event of an object when its state before or after the events cannot be read', () => {
    const unreadable = (): HandlerEvent<Person> => ({
      ...update('u@1', 'u@2'),
      get object(): Person {
        throw new Error('no such version');
      },
    });
    const [first, between, last] = [unreadable(), update('u@2', 'u@3'), unreadable()];
    const other: HandlerEvent<Person> = { kind: 'add', key: 'b', object: person('b', '7'), initial: false };
    const left = coalesce([first, between, other, last]);
    expect([left.length, left[0] === first, left[1] === last, left[2] === other]).to.deep.equal([3, true, true, true]);
  });

  it('does not combine the events of different objects, and orders the objects by their first events', () => {
    const other = person('b', '7');
    const events: HandlerEvent<Person>[] = [
      update('u@1', 'u@2'),
      { kind: 'add', key: 'b', object: other, initial: false },
      update('u@2', 'u@3'),
    ];
    expect(coalesce(events)).to.deep.equal([update('u@1', 'u@3'), events[1]]);
  });
});
