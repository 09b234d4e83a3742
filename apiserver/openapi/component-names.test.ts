import { expect } from 'chai';
import { ComponentNames } from './component-names.ts';

const gv = { group: 'people.example.com', version: 'v1alpha1' };
const model = (kind: string, ...components: string[]) => ({
  ...gv,
  kind,
  schemaName: kind,
  components: Object.fromEntries([kind, ...components].map((name) => [name, {}])),
});
const prefix = 'com.example.people.v1alpha1';

describe('ComponentNames', () => {
  it('reverses the domain, and has a special prefix for the core group', () => {
    const person = model('Person');
    expect(new ComponentNames([person]).of(person, 'Person')).to.equal(`${prefix}.Person`);
    expect(new ComponentNames([person]).of({ ...person, group: '' }, 'Person')).to.equal('core.v1alpha1.Person');
  });

  it('adds the kind as a prefix to the names of components that do not start with it', () => {
    const person = model('Person', 'PersonSpec', 'Address');
    const names = new ComponentNames([person]);
    expect(names.of(person, 'PersonSpec')).to.equal(`${prefix}.PersonSpec`);
    expect(names.of(person, 'Address')).to.equal(`${prefix}.Person.Address`);
  });

  it('never gives two schemas of a group version the same name', () => {
    const odd = ['Person', 'PersonGroup', 'PersonGroupSpec', 'PersonSpec', 'PersonList', 'Person-4c', 'Person.Spec'];
    const components = [...odd, 'Spec', 'List', 'Person.Person', '-List', 'a b', 'a_b', 'L', '.L', 'Person-List'];
    const models = ['Person', 'PersonGroup', 'PersonList', 'Group'].map((kind) => model(kind, ...components));
    const names = new ComponentNames(models);
    const all = models.flatMap((each) => [
      ...Object.keys(each.components).map((component) => names.of(each, component)),
      names.ofList(each),
    ]);
    expect(all.length).to.be.greaterThan(60);
    expect(all.filter((name, index) => all.indexOf(name) !== index)).to.deep.equal([]);
    expect(all.filter((name) => !/^[A-Za-z0-9._-]+$/.test(name))).to.deep.equal([]);
  });

  it('names a model by its kind, even if its schema has another name', () => {
    const person = { ...model('Person', 'Human'), schemaName: 'Human' };
    const names = new ComponentNames([person]);
    expect(names.of(person, 'Human')).to.equal(`${prefix}.Person`);
    expect(names.of(person, 'Person')).to.equal(`${prefix}.Person.Person`);
  });
});
