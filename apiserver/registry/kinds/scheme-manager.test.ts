import { expect } from 'chai';
import {
  AbstractExtension,
  defineModel,
  defineVersions,
  GVK,
  IndexSpec,
  ModelError,
  Schema,
  simpleAttribute,
} from '@homeostat/controller-runtime/api';
import type { IndexSpecs, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { SchemeManager } from './scheme-manager.ts';

@Schema()
class PersonSpec {
  @Schema({ type: 'string' }) name!: string;
}

@GVK({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons', singular: 'person' })
class Person extends AbstractExtension {
  @Schema({ type: () => PersonSpec, requireMode: 'REQUIRED' }) spec!: PersonSpec;
}

const gvk = { group: 'people.example.com', version: 'v1alpha1', kind: 'Person' };
const plugin = { owner: 'people' };

function model(change: {
  version?: string;
  kind?: string;
  plural?: string;
  singular?: string;
  group?: string;
}): ModelDescriptor {
  const names = { ...gvk, plural: 'persons', ...change };
  return defineModel({
    ...names,
    schema: { type: 'object', properties: { spec: { type: 'object', properties: {} } } },
  });
}

describe('SchemeManager', () => {
  let manager: SchemeManager;
  const byName = new IndexSpec({ name: 'spec.name', indexFunc: simpleAttribute(Person, ({ spec }) => spec.name) });

  beforeEach(() => {
    manager = new SchemeManager({ serviceDomain: 'homeostat.internal' });
  });

  it('refuses every kind in the group of the vault, even one that the server itself registers', () => {
    const inVault = model({ group: 'vault.homeostat.internal' });
    expect(() => manager.register(inVault)).to.throw(ModelError, "the server's own secrets, which no API path serves");
    expect(() => new SchemeManager({ serviceDomain: 'other.example' }).register(inVault, undefined, plugin)).to.throw(
      ModelError,
    );
  });

  it('registers a model with the indexes that a callback adds, and finds the model by kind and by plural [spec 1-step-indexes]', () => {
    const registration = manager.register(Person, (indexSpecs) => indexSpecs.add(byName), plugin);
    expect(registration.owner).to.equal('people');
    expect(registration.descriptor.indexes).to.deep.equal([byName]);
    expect(manager.lookup(gvk)).to.equal(registration);
    expect(manager.lookupPlural('people.example.com', 'v1alpha1', 'persons')).to.equal(registration);
    expect(manager.lookupPlural('people.example.com', 'v1', 'persons')).to.equal(undefined);
    expect(manager.list()).to.deep.equal([registration]);
    expect(Object.isFrozen(registration.descriptor) && Object.isFrozen(registration.descriptor.indexes)).to.equal(true);
  });

  it('registers the indexes that the model and the callback of register() declare, and refuses a name in both [spec 2.8-name-unique]', () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
    } as const;
    const described = defineModel({ ...gvk, plural: 'persons', schema, indexes: ['spec.a'] });
    const spec = new IndexSpec({ name: 'b', indexFunc: simpleAttribute(described, () => 'x') });
    const { descriptor } = manager.register(described, (indexSpecs) => indexSpecs.add(spec), plugin);
    expect(descriptor.indexes.map(({ name }) => name)).to.deep.equal(['spec.a', 'b']);
    manager.unregister(described, 'people');
    const again = new IndexSpec({ name: 'spec.a', indexFunc: spec.indexFunc });
    expect(() => manager.register(described, (indexSpecs) => indexSpecs.add(again), plugin)).to.throw(
      ModelError,
      'declared twice',
    );
    expect(manager.list()).to.deep.equal([]);
  });

  it('refuses to register a registered model again with other indexes, and accepts it again with the same indexes', () => {
    const first = manager.register(Person, (indexSpecs) => indexSpecs.add(byName), plugin);
    expect(manager.register(Person, undefined, plugin)).to.equal(first);
    expect(manager.register(Person, (indexSpecs) => indexSpecs.add(byName), plugin)).to.equal(first);
    const unique = new IndexSpec({ name: 'spec.name', unique: true, indexFunc: byName.indexFunc });
    for (const callback of [(specs: IndexSpecs<Person>) => void specs.add(unique), () => undefined]) {
      expect(() => manager.register(Person, callback, plugin)).to.throw(ModelError, /indexes: .*with other indexes/);
    }
    expect(manager.list()).to.deep.equal([first]);
  });

  it('refuses an index that is added after the callback given to register has returned', () => {
    let specs: IndexSpecs<Person> | undefined;
    manager.register(Person, (indexSpecs) => void (specs = indexSpecs), plugin);
    expect(() => specs?.add(byName)).to.throw(ModelError, 'was added after the callback of register had returned');
  });

  it('changes nothing when the same owner registers the same kind again', () => {
    const first = manager.register(Person, (indexSpecs) => indexSpecs.add(byName), plugin);
    expect(manager.register(Person, undefined, plugin)).to.equal(first);
    expect(manager.lookup(gvk)?.descriptor.indexes).to.deep.equal([byName]);
  });

  it('refuses a kind that another plugin has registered, with a message that names both plugins', () => {
    manager.register(Person, undefined, plugin);
    expect(() => manager.register(Person, undefined, { owner: 'intruder' }))
      .to.throw(ModelError, 'gvk')
      .with.property('message')
      .that.includes('intruder')
      .and.includes('"people"');
    expect(() => manager.register(model({ version: 'v1' }), undefined, { owner: 'intruder' })).to.throw(
      ModelError,
      'kind',
    );
    expect(manager.list()).to.have.length(1);
  });

  it('refuses a plural or singular that another kind of the same group has', () => {
    manager.register(Person, undefined, plugin);
    const taken = [
      { kind: 'Human', plural: 'persons', singular: 'human' },
      { kind: 'Human', plural: 'humans', singular: 'person' },
      { kind: 'Human', plural: 'person', singular: 'human' },
      { kind: 'Human', plural: 'humans', singular: 'persons' },
    ];
    for (const names of taken) {
      expect(() => manager.register(model(names), undefined, plugin), JSON.stringify(names)).to.throw(
        ModelError,
        'Person, which belongs to "people"',
      );
    }
    manager.register(model({ kind: 'Human', singular: 'human', group: 'other.example.com' }), undefined, plugin);
    manager.register(model({ kind: 'Human', plural: 'humans', singular: 'human' }), undefined, plugin);
    expect(manager.list()).to.have.length(3);
  });

  it('refuses a further version of a registered kind, because all versions must be registered together', () => {
    manager.register(Person, undefined, plugin);
    expect(() => manager.register(model({ version: 'v1', singular: 'person' }), undefined, plugin)).to.throw(
      ModelError,
      'version: "v1" must be registered together with v1alpha1 of the same kind: see defineVersions',
    );
  });

  it('finds each version of a kind, lists the kind once, and unregisters the whole kind by any of its versions', () => {
    const v1 = model({ version: 'v1', singular: 'person' });
    const kind = defineVersions(Person, [{ model: v1 }]);
    const registration = manager.register(kind, undefined, plugin);
    expect(manager.lookup(v1)?.descriptor).to.equal(v1);
    expect(manager.lookupPlural('people.example.com', 'v1', 'persons')?.owner).to.equal(registration.owner);
    expect(manager.register(v1, undefined, plugin).descriptor).to.equal(v1);
    expect(manager.list()).to.deep.equal([registration]);
    expect(manager.unregister(v1, registration.owner)).to.equal(true);
    expect([manager.lookup(gvk), manager.lookup(v1), manager.list()]).to.deep.equal([undefined, undefined, []]);
  });

  it("refuses a plugin's model in a reserved group, and accepts a model of the server itself in this group [spec 2.1-group-service]", () => {
    const reserved = model({ group: 'homeostat.internal' });
    expect(() => manager.register(reserved, undefined, plugin)).to.throw(ModelError, 'group');
    expect(manager.register(reserved).owner).to.equal('service');
  });

  it('registers nothing when the callback throws or is asynchronous', () => {
    const fails = (): never => {
      throw new Error('no index today');
    };
    expect(() => manager.register(Person, fails, plugin)).to.throw('no index today');
    expect(() => manager.register(Person, async () => {}, plugin)).to.throw(ModelError, 'asynchronous');
    expect(manager.list()).to.deep.equal([]);
  });

  it('calls listeners until they unsubscribe', () => {
    const heard: string[] = [];
    const leave = manager.on('registered', ({ descriptor }) => heard.push(`+${descriptor.kind}`));
    manager.on('unregistered', ({ descriptor }) => heard.push(`-${descriptor.kind}`));
    manager.register(Person, undefined, plugin);
    expect(manager.unregister(Person, 'people')).to.equal(true);
    expect(manager.unregister(gvk, 'people')).to.equal(false);
    leave();
    manager.register(Person, undefined, plugin);
    expect(heard).to.deep.equal(['+Person', '-Person']);
  });

  it('undoes a registration that a listener refuses, and rethrows its error', () => {
    const undone: string[] = [];
    const failure = new Error('table is full');
    manager.on('registered', () => {
      throw failure;
    });
    manager.on('unregistered', ({ descriptor }) => undone.push(descriptor.kind));
    expect(() => manager.register(Person, undefined, plugin)).to.throw(failure);
    expect(undone).to.deep.equal(['Person']);
    expect(manager.lookup(gvk)).to.equal(undefined);
    expect(manager.lookupPlural(gvk.group, gvk.version, 'persons')).to.equal(undefined);
  });

  it('unregisters a kind even when a listener throws, and calls all other listeners', () => {
    const heard: string[] = [];
    manager.on('unregistered', () => {
      throw new Error('first');
    });
    manager.on('unregistered', () => {
      throw new Error('second');
    });
    manager.on('unregistered', ({ descriptor }) => heard.push(descriptor.kind));
    manager.register(Person, undefined, plugin);
    expect(() => manager.unregister(gvk, 'people'))
      .to.throw(AggregateError, 'first')
      .with.property('errors')
      .that.has.length(2);
    expect(heard).to.deep.equal(['Person']);
    expect(manager.lookup(gvk)).to.equal(undefined);
  });

  it('refuses to unregister a kind for a plugin other than the one that registered it', () => {
    manager.register(Person, undefined, plugin);
    expect(() => manager.unregister(gvk, 'intruder')).to.throw(ModelError, '"people"');
    expect(manager.lookup(gvk)?.owner).to.equal('people');
  });

  it('gives each plugin an OwnedScheme, which lists only the kinds of the plugin and refuses other groups [spec 2.1-group-owned]', () => {
    const scheme = manager.forOwner('people', { group: 'people.example.com' });
    manager.register(model({ group: 'other.example.com' }), undefined, { owner: 'other' });
    const registration = scheme.register(Person, (indexSpecs) => {
      indexSpecs.add(byName);
    });
    expect(scheme.registered()).to.deep.equal([registration]);
    expect(() => scheme.register(model({ group: 'else.example.com' }))).to.throw(
      ModelError,
      'own group people.example.com',
    );
    expect(() => scheme.unregister({ ...gvk, group: 'other.example.com' })).to.throw(ModelError, '"other"');
    for (const { descriptor } of scheme.registered()) scheme.unregister(descriptor);
    expect(scheme.registered()).to.deep.equal([]);
    expect(manager.list()).to.have.length(1);
  });

  describe('replace', () => {
    it('replaces a model by one with other short names, and calls listeners', () => {
      manager.register(model({}), undefined, plugin);
      const seen: ModelDescriptor[] = [];
      manager.on('replaced', ({ descriptor }) => seen.push(descriptor));
      const next: ModelDescriptor = { ...model({}), shortNames: ['ps'] };
      const registration = manager.replace(next, 'people');
      expect(registration.descriptor).to.equal(next);
      expect(seen).to.deep.equal([next]);
      expect([manager.lookup(gvk), manager.lookupPlural('people.example.com', 'v1alpha1', 'persons')]).to.deep.equal([
        registration,
        registration,
      ]);
    });

    it('keeps the previous model when a listener throws', () => {
      const before = manager.register(model({}), undefined, plugin);
      manager.on('replaced', () => {
        throw new Error('no');
      });
      expect(() => manager.replace({ ...model({}), shortNames: ['ps'] }, 'people')).to.throw('no');
      expect(manager.lookup(gvk)).to.equal(before);
    });

    const refusals: readonly (readonly [what: string, next: ModelDescriptor, owner: string, rule: string])[] = [
      ['a model that is not registered', model({ version: 'v2' }), 'people', 'is not registered'],
      ['a kind that another plugin has registered', model({}), 'other', '"people"'],
      ['another plural', model({ plural: 'people' }), 'people', 'plural: must stay "persons"'],
      ['another scope', { ...model({}), scope: 'Namespaced' }, 'people', 'scope: must stay "Cluster"'],
      [
        'other indexes',
        { ...model({}), indexes: [byName] },
        'people',
        'indexes: must stay the same while the kind is served',
      ],
      ['a broken rule', { ...model({}), shortNames: ['P'] }, 'people', 'shortNames'],
    ];
    for (const [what, next, owner, rule] of refusals) {
      it(`refuses a replacement, and keeps the registered model: ${what}`, () => {
        const before = manager.register(model({}), undefined, plugin);
        expect(() => manager.replace(next, owner)).to.throw(ModelError, rule);
        expect(manager.list()).to.deep.equal([before]);
      });
    }
  });
});
