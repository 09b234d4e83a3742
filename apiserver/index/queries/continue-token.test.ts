import { reasonOf } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { formatContinueToken, parseContinueToken } from './continue-token.ts';
import { createPersonCache } from '../person.fixture.ts';
import { compileQuery } from './query.ts';

const cache = createPersonCache();
const scope = { query: compileQuery(cache, { sort: [{ field: 'spec.age' }] }), epoch: 'e1' };
const position = { revision: 1234, offset: 500 };
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function refusal(text: string, of = scope): [string | undefined, string] {
  try {
    parseContinueToken(text, of);
  } catch (error) {
    return [reasonOf(error), (error as Error).message];
  }
  throw new Error('was not refused');
}

describe('continue token', () => {
  it('is URL-safe, and contains the position that it was made from', () => {
    const text = formatContinueToken(position, scope);
    expect(text).to.match(/^[\w-]{1,200}$/);
    expect(parseContinueToken(text, scope)).to.deep.equal(position);
    const again = compileQuery(cache, { sort: [{ field: 'spec.age' }] });
    expect(parseContinueToken(text, { ...scope, query: again })).to.deep.equal(position);
  });

  it('is refused with Expired in another epoch', () => {
    const [reason, message] = refusal(formatContinueToken(position, scope), { ...scope, epoch: 'e2' });
    expect(reason).to.equal('Expired');
    expect(message).to.contain('too old to display a consistent list result');
  });

  it('is refused with BadRequest for another query', () => {
    const query = compileQuery(cache, { sort: [{ field: 'spec.age', direction: 'desc' }] });
    expect(refusal(formatContinueToken(position, scope), { ...scope, query })).to.deep.equal([
      'BadRequest',
      'continue key is not valid: the continue parameter comes from a list with other parameters',
    ]);
  });

  it('is refused with BadRequest when it is malformed, has a field with an invalid value, or was made by Kubernetes', () => {
    const good = JSON.parse(Buffer.from(formatContinueToken(position, scope), 'base64url').toString()) as object;
    const foreign = 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJrZXkifQ';
    const wrong = [
      { v: 2 },
      { rv: 0 },
      { rv: -1 },
      { rv: '1' },
      { rv: 1.5 },
      { o: -1 },
      { o: 2 ** 60 },
      { o: null },
      { e: 1 },
      { q: [] },
    ];
    const texts = [
      '',
      'a b',
      '%%',
      'e30',
      'bnVsbA',
      'W10',
      'AAAA',
      foreign,
      'a'.repeat(100_000),
      ...wrong.map((part) => encode({ ...good, ...part })),
    ];
    for (const text of texts) {
      const [reason, message] = refusal(text);
      expect([reason, message.slice(0, 26)], text.slice(0, 80)).to.deep.equal([
        'BadRequest',
        'continue key is not valid:',
      ]);
    }
  });
});
