import { expect } from 'chai';
import { workKey } from './work-key.ts';

describe('a key that a mapping or a source returns', () => {
  const person = { kind: 'Person', scope: 'Cluster' } as const;
  const letter = { kind: 'Letter', scope: 'Namespaced' } as const;

  it('a key may be a text or an object; it has a namespace only for Namespaced kinds', () => {
    expect(workKey('ada', person)).to.equal('ada');
    expect(workKey({ name: 'ada' }, person)).to.equal('ada');
    expect(workKey('home/to-ada', letter)).to.equal('home/to-ada');
    expect(workKey({ namespace: 'home', name: 'to-ada' }, letter)).to.equal('home/to-ada');
  });

  it('a key that no object of the kind can have is refused', () => {
    const bad: readonly unknown[] = [
      '',
      'home/ada',
      'x'.repeat(400),
      undefined,
      null,
      7,
      {},
      { name: 7 },
      { name: '' },
    ];
    for (const key of bad) expect(() => workKey(key as string, person), String(key)).to.throw('not a key of a Person');
    for (const key of ['ada', '/ada', 'home/', 'a/b/c', { name: 'ada' }]) {
      expect(() => workKey(key, letter)).to.throw('not a key of a Letter: write <namespace>/<name>');
    }
  });
});
