import { expect } from 'chai';
import { workKey } from './work-key.ts';

describe('a key that a mapping or a source returns', () => {
  const person = { kind: 'Person', scope: 'Cluster' } as const;
  const letter = { kind: 'Letter', scope: 'Namespaced' } as const;

  it('is a text or an object, which has a namespace for Namespaced kinds only', () => {
    expect(workKey('ada', person)).to.equal('ada');
    expect(workKey({ name: 'ada' }, person)).to.equal('ada');
    expect(workKey('home/to-ada', letter)).to.equal('home/to-ada');
    expect(workKey({ namespace: 'home', name: 'to-ada' }, letter)).to.equal('home/to-ada');
  });

  it('is refused when no object of the kind can have it', () => {
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
      expect(() => workKey(key, letter)).to.throw('not a key of a Letter, which is <namespace>/<name>');
    }
  });
});
