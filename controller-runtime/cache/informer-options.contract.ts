import { expect } from 'chai';
import { defineModel, keyOf, reasonOf } from '../api/index.ts';
import type { ApiObject, Model, ModelDescriptor } from '../api/index.ts';
import { Badge, Person } from '../client/example-person.fixture.ts';
import type { InformerOptions } from '../client/informer.ts';
import { eventually } from '../testing/eventually.ts';
import { HandlerRecord } from './followed-case.fixture.ts';
import type { FollowedCase } from './followed-case.fixture.ts';

/** The kind `v1 Namespace`, without the properties of its spec and status, which the tests do not need. */
const Namespace: ModelDescriptor = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  schema: { type: 'object', properties: {} },
});

/** The tests of the options that decide which objects an informer follows, and which fields it keeps. */
export function describeOptions(followed: FollowedCase): void {
  describe('its options', () => {
    describeNamespaces(followed);
    describeForms(followed);

    it('fieldSelector selects objects by fields', async () => {
      await followed.one.create('young', { age: 1 });
      await followed.one.create('old', { age: 90 });
      const informer = await followed.follow({ fieldSelector: 'spec.age=90' });
      expect(informer.list().map(({ spec }) => spec.name)).to.deep.equal(['old']);
      const record = new HandlerRecord();
      informer.addHandler(record);
      await followed.patch('young', { spec: { age: 90 } });
      await followed.patch('old', { spec: { age: 91 } });
      expect(await record.after(3)).to.deep.equal(['initial old', 'add young', 'delete old']);
    });

    const refused: readonly (readonly [string, Model, InformerOptions, RegExp])[] = [
      ['a malformed label selector', Person, { labelSelector: '=,' }, /labelSelector|selector/i],
      ['a malformed field selector', Person, { fieldSelector: '=' }, /fieldSelector|selector/i],
      [
        'namespaces for a Cluster-scoped kind',
        Person,
        { namespaces: ['default'] },
        /namespaces: Person is Cluster-scoped/,
      ],
      ['an empty list of namespaces', Badge, { namespaces: [] }, /namespaces: must have 1 to 100 items, has 0/],
      ['a list that has a namespace twice', Badge, { namespaces: ['a', 'a'] }, /namespaces: an item occurs twice/],
      ['an invalid namespace name', Badge, { namespaces: ['a', '../b'] }, /namespaces\[1\]: /],
      ['a namespace name with a dot', Badge, { namespaces: ['a.b'] }, /namespaces\[0\]: must not contain dots/],
    ];
    for (const [what, model, options, message] of refused) {
      it(`an informer cannot be made with ${what}`, () => {
        const thrown = catchError(() => followed.client.informer(model, options));
        expect(reasonOf(thrown)).to.equal('BadRequest');
        expect(String(thrown)).to.match(message);
      });
    }
  });
}

function describeNamespaces(followed: FollowedCase): void {
  it('namespaces restricts the informer to the selected namespaces', async () => {
    const { client, one } = followed;
    const [here, there, elsewhere] = [one.name('here'), one.name('there'), one.name('elsewhere')] as const;
    const create = (namespace: string, name: string): Promise<Badge> =>
      client.create(Badge, { metadata: { namespace, name }, spec: { name } });
    for (const name of [here, there, elsewhere]) await client.create(Namespace, { metadata: { name } });
    const a = await create(here, 'a');
    for (const namespace of [there, elsewhere]) await create(namespace, 'b');
    const informer = await followed.followUntilStop(client.informer(Badge, { namespaces: [there, here] }));
    const seen: string[] = [];
    const note = (what: string, { metadata }: ApiObject): void => {
      seen.push(`${what} ${String(metadata.namespace).replace(`${one.id}-`, '')}/${metadata.name}`);
    };
    informer.addHandler({ onAdd: (object) => note('add', object), onDelete: (object) => note('delete', object) });
    await eventually(() => seen.length === 2);
    expect(seen.splice(0)).to.have.members(['add here/a', 'add there/b']);
    expect(informer.get(keyOf(a))).to.deep.equal(a);
    expect(informer.get({ namespace: elsewhere, name: 'b' })).to.equal(undefined);
    await create(elsewhere, 'c');
    await client.delete(Badge, 'b', { namespace: elsewhere });
    await create(here, 'c');
    await client.delete(Badge, 'b', { namespace: there });
    await eventually(() => seen.length === 2);
    expect(seen).to.have.members(['add here/c', 'delete there/b']);
    expect(informer.list().map(({ metadata }) => metadata.name)).to.have.members(['a', 'c']);
  });
}

function describeForms(followed: FollowedCase): void {
  it('metadataOnly restricts the informer to the metadata of objects', async () => {
    const a = await followed.one.create('a');
    const { client, one } = followed;
    const informer = await followed.followUntilStop(
      client.informer(Person, { labelSelector: one.selector, metadataOnly: true }),
    );
    const partial = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };
    expect(informer.list()).to.deep.equal([{ ...partial, metadata: a.metadata }]);
    expect(Object.isFrozen(informer.list()[0]?.metadata.labels)).to.equal(true);
    const states: ApiObject[] = [];
    informer.addHandler({
      onUpdate: (_previous, object) => void states.push(object),
      onDelete: (object) => void states.push(object),
    });
    const changed = await followed.patch('a', { spec: { age: 3 } });
    await eventually(() => states.length === 1);
    await followed.delete('a');
    await eventually(() => states.length === 2);
    expect(states[0]).to.deep.equal({ ...partial, metadata: changed.metadata });
    expect(states[1]).to.have.all.keys('apiVersion', 'kind', 'metadata');
  });

  it('the informer keeps only what the transform function returns for each object, frozen', async () => {
    await followed.one.create('a', { age: 5 });
    const transform = ({ metadata, ...object }: Person): Person => ({
      ...object,
      metadata: { ...metadata, labels: {} },
      spec: { name: object.spec.name.toUpperCase() },
    });
    const informer = await followed.follow({ transform });
    const record = new HandlerRecord();
    informer.addHandler(record);
    await followed.patch('a', { spec: { age: 6 } });
    await followed.delete('a');
    const calls = ['initial A', 'update A undefined-undefined', 'delete A'];
    expect(await record.after(3)).to.deep.equal(calls);
    for (const object of record.objects) {
      expect(object.spec).to.deep.equal({ name: 'A' });
      expect(object.metadata.labels).to.deep.equal({});
      expect(Object.isFrozen(object.spec)).to.equal(true);
    }
  });

  it('the informer keeps the whole object when the transform function throws or changes metadata.name', async () => {
    await followed.one.createAll('throws', 'renames', 'shrinks');
    const transform = (object: Person): Person => {
      if (object.spec.name === 'throws') throw new Error('a bug of the function');
      if (object.spec.name === 'renames') return { ...object, metadata: { ...object.metadata, name: 'other' } };
      return { ...object, spec: { name: 'less' } };
    };
    const informer = await followed.follow({ transform });
    expect(informer.list().map(({ spec }) => spec.name)).to.have.members(['throws', 'renames', 'less']);
    expect(informer.get({ name: followed.one.name('renames') })?.spec.name).to.equal('renames');
  });
}

function catchError(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
