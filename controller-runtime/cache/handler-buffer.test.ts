import { expect } from 'chai';
import type { Person } from '../client/example-person.fixture.ts';
import { person } from '../client/example-person.fixture.ts';
import { eventually } from '../testing/eventually.ts';
import { HandlerBuffer } from './handler-buffer.ts';
import type { HandlerEvent } from './handler-event.ts';
import type { InformerHandler } from '../client/informer.ts';

const added = (name: string, revision = '1'): HandlerEvent<Person> => ({
  kind: 'add',
  key: name,
  object: person(name, revision),
  initial: false,
});

const updated = (name: string, from: number, to: number): HandlerEvent<Person> => ({
  kind: 'update',
  key: name,
  previous: person(name, `${from}`),
  object: person(name, `${to}`),
});

describe('HandlerBuffer', () => {
  const errors: unknown[] = [];
  const bufferFor = (handler: InformerHandler<Person>) =>
    new HandlerBuffer(handler, { report: (error) => errors.push(error) });

  it('calls a handler only after push has returned', async () => {
    let calls = 0;
    const buffer = bufferFor({ onAdd: () => void (calls += 1) });
    buffer.push(added('a'));
    expect(calls).to.equal(0);
    await buffer.drained();
    expect(calls).to.equal(1);
  });

  it('waits for a handler that returns a promise before its next event, and delays no other handler', async () => {
    const names: string[] = [];
    let release = (): void => {};
    // TypeScript accepts async functions as handlers, although their type returns void. So the buffer has to wait for
    // their promises.
    const slow = bufferFor({
      onAdd: async (object) => {
        names.push(`begin ${object.metadata.name}`);
        await new Promise<void>((resolve) => (release = resolve));
        names.push(`end ${object.metadata.name}`);
      },
    });
    const quick = bufferFor({ onAdd: (object) => void names.push(`quick ${object.metadata.name}`) });
    for (const buffer of [slow, quick]) for (const name of ['a', 'b']) buffer.push(added(name));
    await quick.drained();
    expect(names).to.have.members(['begin a', 'quick a', 'quick b']);
    expect(slow.isIdle()).to.equal(false);
    release();
    await eventually(() => names.includes('begin b'));
    expect(names.indexOf('end a')).to.be.below(names.indexOf('begin b'));
    release();
    await slow.drained();
    expect(slow.isIdle()).to.equal(true);
  });

  it('reports an error that a handler throws or rejects with, and continues', async () => {
    errors.length = 0;
    const names: string[] = [];
    const buffer = bufferFor({
      onAdd: async ({ metadata: { name } }) => {
        names.push(name);
        if (name !== 'c') throw new Error(`bug ${name}`);
      },
    });
    for (const name of ['a', 'b', 'c']) buffer.push(added(name));
    await buffer.drained();
    expect(names).to.deep.equal(['a', 'b', 'c']);
    expect(errors.map(String)).to.deep.equal(['Error: bug a', 'Error: bug b']);
  });

  it('yields to the event loop while many events are waiting', async () => {
    let delivered = 0;
    const buffer = bufferFor({ onAdd: () => void (delivered += 1) });
    for (let index = 0; index < 1000; index += 1) buffer.push(added(`p${index}`));
    await new Promise((resolve) => setImmediate(resolve));
    expect(delivered).to.be.above(0).and.below(1000);
    await buffer.drained();
    expect(delivered).to.equal(1000);
  });

  it('delivers events in the order of push and pushAll, and takes each event from the iterable of pushAll only when it is due', async () => {
    const names: string[] = [];
    let made = 0;
    const buffer = bufferFor({ onAdd: ({ metadata: { name } }) => void names.push(name) });
    function* all(): Iterable<HandlerEvent<Person>> {
      for (let index = 0; index < 1000; index += 1) {
        made += 1;
        yield added(`p${index}`);
      }
    }
    buffer.push(added('before'));
    buffer.pushAll(all());
    buffer.push(added('after'));
    // This second `pushAll` has no effect, because the events of the first `pushAll` have not been delivered yet.
    buffer.pushAll(all());
    expect(made).to.equal(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(made).to.be.below(1000);
    await buffer.drained();
    expect(made).to.equal(1000);
    expect(names).to.have.length(1002);
    expect([names[0], names[1], names[1000], names[1001]]).to.deep.equal(['before', 'p0', 'p999', 'after']);
    buffer.pushAll(all());
    await buffer.drained();
    expect(made).to.equal(2000);
  });

  it('does not call the handler after remove, not even for a waiting event', async () => {
    let calls = 0;
    let removed = 0;
    const buffer: HandlerBuffer<Person> = new HandlerBuffer<Person>(
      {
        onAdd: () => {
          calls += 1;
          buffer.remove();
        },
      },
      { report: (error) => errors.push(error), onRemove: () => void (removed += 1) },
    );
    for (const name of ['a', 'b']) buffer.push(added(name));
    await buffer.drained();
    buffer.remove();
    buffer.push(added('c'));
    expect(buffer.isIdle()).to.equal(true);
    expect(calls).to.equal(1);
    expect(removed).to.equal(1);
  });

  it('combines the updates of an object when a handler is far behind', async () => {
    const seen: string[] = [];
    let release = (): void => {};
    const buffer = bufferFor({
      onAdd: async () => new Promise<void>((resolve) => (release = resolve)),
      onUpdate: (previous, object) =>
        void seen.push(`${previous.metadata.resourceVersion}-${object.metadata.resourceVersion}`),
    });
    buffer.push(added('a', '0'));
    await eventually(() => !buffer.isIdle());
    await new Promise((resolve) => setImmediate(resolve));
    for (let revision = 0; revision < 25_000; revision += 1) buffer.push(updated('a', revision, revision + 1));
    release();
    await buffer.drained();
    expect(seen.length).to.be.below(10_000);
    expect(seen[0]).to.match(/^0-/);
    expect(seen.at(-1)).to.match(/-25000$/);
  });
});
