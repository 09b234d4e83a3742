import { expect } from 'chai';
import fc from 'fast-check';
import { difference, fieldElement, intersection, isEmptySet, leaf, membersOf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { formatFieldPath, itemElement, parseElement } from './path-element.ts';

const path = fc.array(fc.constantFrom('f:a', 'f:b', 'k:{"n":1}', 'v:"x"'), { minLength: 1, maxLength: 3 });
const paths = fc.array(path, { maxLength: 8 });

/** Returns the set with these paths, built by adding one path at a time. */
function setOf(members: readonly (readonly string[])[]): FieldSet {
  const node = (rest: readonly string[]): FieldSet =>
    rest.length === 0 ? leaf : { [rest[0] as string]: node(rest.slice(1)) };
  return members.reduce<FieldSet>((set, member) => union(set, node(member)), leaf);
}

function textsOf(set: FieldSet): readonly string[] {
  return Array.from(membersOf(set), (member) => member.join('/')).sort();
}

function texts(members: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(members.map((member) => member.join('/')))].sort();
}

describe('a set of fields', () => {
  it('contains exactly the paths that were added', () => {
    fc.assert(
      fc.property(paths, (members) => {
        expect(textsOf(setOf(members))).to.deep.equal(texts(members));
      }),
    );
  });

  it('has the right union, difference and intersection with another set, and neither set changes', () => {
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [setOf(left), setOf(right)];
        const inLeft = new Set(texts(left));
        const inRight = new Set(texts(right));
        expect(textsOf(union(a, b))).to.deep.equal(texts([...left, ...right]));
        expect(textsOf(difference(a, b))).to.deep.equal([...inLeft].filter((each) => !inRight.has(each)));
        expect(textsOf(intersection(a, b))).to.deep.equal([...inLeft].filter((each) => inRight.has(each)));
        expect(isEmptySet(difference(a, a))).to.equal(true);
        expect([textsOf(a), textsOf(b)], 'the operands').to.deep.equal([[...inLeft], [...inRight]]);
      }),
    );
  });

  it('is returned unchanged, as the same object, when a set that has no member in common with it is subtracted', () => {
    const set = setOf([['f:a', 'f:b'], ['f:c']]);
    expect(difference(set, setOf([['f:a'], ['f:a', 'f:x']]))).to.equal(set);
  });

  it('has the key "." below a path if the path is a member of the set and other members are below the path', () => {
    expect(setOf([['f:a'], ['f:a', 'f:b']])).to.deep.equal({ 'f:a': { '.': {}, 'f:b': {} } });
    expect(difference(setOf([['f:a'], ['f:a', 'f:b']]), setOf([['f:a', 'f:b']]))).to.deep.equal({ 'f:a': {} });
  });
});

describe('a path element', () => {
  it('names a field by its name, an item of a map list by its keys, and an item of a set by its value', () => {
    const none = (): undefined => undefined;
    expect(fieldElement('a.b')).to.equal('f:a.b');
    expect(itemElement({ b: 1, a: 'x', c: 0 }, { kind: 'map', keys: ['b', 'a'] }, none)).to.equal('k:{"a":"x","b":1}');
    expect(itemElement('x', { kind: 'set' }, none)).to.equal('v:"x"');
  });

  it('uses the default value of a key that the item does not have', () => {
    const identity = { kind: 'map', keys: ['port', 'protocol'] } as const;
    expect(itemElement({ port: 1 }, identity, (key) => (key === 'protocol' ? 'TCP' : undefined))).to.equal(
      'k:{"port":1,"protocol":"TCP"}',
    );
  });

  it('is parsed to one form for any spacing and any order of keys, and is refused when it is malformed', () => {
    expect(parseElement('k:{ "b": 1, "a": 2 }')).to.equal('k:{"a":2,"b":1}');
    expect(parseElement('v: "x"')).to.equal('v:"x"');
    for (const wrong of ['a', 'k:1', 'k:{', 'v:', 'i:x', 'x:a', ''])
      expect(parseElement(wrong), wrong).to.equal(undefined);
  });

  it('is formatted in a path as Kubernetes formats it', () => {
    const shown = formatFieldPath(['f:spec', 'f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:tags', 'v:"x"']);
    expect(shown).to.equal('.spec.ports[port=80,protocol="TCP"].tags[="x"]');
  });
});
