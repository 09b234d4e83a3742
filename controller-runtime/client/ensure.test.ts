import { expect } from 'chai';
import { ApiError, reasonOf } from '../api/index.ts';
import type { Client, Desired } from './client.ts';
import { ensureObject } from './ensure.ts';
import { Person, person } from './example-person.fixture.ts';

type Verbs = Pick<Client, 'get' | 'create' | 'update'>;

/** A client that returns scripted values in order, and throws those that are errors. It records its calls. */
class ScriptedVerbs {
  readonly calls: [verb: string, argument: unknown][] = [];
  readonly #answers: unknown[];

  constructor(...answers: unknown[]) {
    this.#answers = answers;
  }

  readonly get = (async (_model: unknown, name: string) => this.#answer('get', name)) as Verbs['get'];
  readonly create = (async (_model: unknown, object: unknown) => this.#answer('create', object)) as Verbs['create'];
  readonly update = (async (object: unknown) => this.#answer('update', object)) as Verbs['update'];

  get verbs(): string {
    return this.calls.map(([verb]) => verb).join(' ');
  }

  #answer(verb: string, argument: unknown): unknown {
    this.calls.push([verb, argument]);
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

const absent = new ApiError('NotFound', 'absent');
const exists = new ApiError('AlreadyExists', 'exists');
const conflict = new ApiError('Conflict', 'changed');
const ensure = (client: ScriptedVerbs, desired: Desired<Person>) =>
  ensureObject(client, Person, { key: 'alice', desired });
const reasonFrom = (promise: Promise<unknown>) => promise.then(() => undefined, reasonOf);

describe('ensureObject', () => {
  it('creates an object that does not exist, without the fields that are null in the patch', async () => {
    const client = new ScriptedVerbs(absent, person('alice', '1'));
    const desired = { metadata: { labels: { a: 'b' }, resourceVersion: '7' }, spec: { name: 'A', age: null } };
    await ensure(client, desired);
    expect(client.calls.at(-1)).to.deep.equal([
      'create',
      { metadata: { name: 'alice', labels: { a: 'b' } }, spec: { name: 'A' } },
    ]);
  });

  it('writes nothing when the object already has all desired fields; undefined fields are ignored', async () => {
    const present = person('alice', '1');
    const client = new ScriptedVerbs(present);
    const desired = { metadata: { version: 99 }, spec: { name: 'alice', age: undefined } };
    expect(await ensure(client, desired as unknown as Desired<Person>)).to.equal(present);
    expect(client.verbs).to.equal('get');
  });

  it('writes the merged object with the resourceVersion of the object that it has read', async () => {
    const client = new ScriptedVerbs(person('alice', '5', { spec: { name: 'alice', age: 3 } }), person('alice', '6'));
    await ensure(client, { metadata: { labels: { a: 'b' } }, spec: { age: 4 } });
    const present = person('alice', '5');
    expect(client.calls.at(-1)).to.deep.equal([
      'update',
      { ...present, metadata: { ...present.metadata, labels: { a: 'b' } }, spec: { name: 'alice', age: 4 } },
    ]);
  });

  it('reads the object again after a conflict, after another client has created the object, and after a deletion between read and write', async () => {
    const old = person('alice', '5');
    const answers = [absent, exists, old, conflict, old, absent, absent, person('alice', '9')];
    const client = new ScriptedVerbs(...answers);
    expect((await ensure(client, { spec: { age: 4 } })).metadata.resourceVersion).to.equal('9');
    expect(client.verbs).to.equal('get create get update get update get create');
  });

  it('rejects with the last error after eight failed attempts', async () => {
    const always = new ScriptedVerbs(person('alice', '5'));
    let updates = 0;
    const update: Verbs['update'] = async () => {
      updates += 1;
      throw conflict;
    };
    const client = { get: always.get, create: always.create, update };
    const failure = ensureObject(client, Person, { key: 'alice', desired: { spec: { age: 4 } } });
    expect(await reasonFrom(failure)).to.equal('Conflict');
    expect(updates).to.equal(8);
  });

  it('rejects at once with an error that no second attempt can cure, such as Invalid', async () => {
    const invalid = new ScriptedVerbs(person('alice', '5'), new ApiError('Invalid', 'no'));
    expect(await reasonFrom(ensure(invalid, { spec: { age: 4 } }))).to.equal('Invalid');
    const unknownKind = new ScriptedVerbs(absent);
    expect(await reasonFrom(ensure(unknownKind, { spec: { age: 4 } }))).to.equal('NotFound');
    expect(unknownKind.verbs).to.equal('get create');
  });

  it('uses the namespace of the key, even if the options have another namespace', async () => {
    const client = new ScriptedVerbs(absent, person('alice', '1'));
    const key = { namespace: 'blue', name: 'alice' };
    await ensureObject(client, Person, { key, desired: { spec: { name: 'A' } }, options: { namespace: 'red' } });
    expect(client.calls.at(-1)?.[1]).to.deep.include({ metadata: { name: 'alice', namespace: 'blue' } });
  });
});
