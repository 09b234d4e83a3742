import { expect } from 'chai';
import { checkToken } from './administrator-token.ts';

describe('the token of the administrator', () => {
  it('has 16 to 1,024 printable ASCII characters and no space', () => {
    for (const fit of ['x'.repeat(16), 'x'.repeat(1024), '!#$%&()*+,-./:;<=>?@[]^_`{|}~']) {
      expect(checkToken(fit), fit).to.deep.equal([]);
    }
    for (const unfit of [
      '',
      'x'.repeat(15),
      'x'.repeat(1025),
      `${'x'.repeat(16)} `,
      `x\t${'x'.repeat(16)}`,
      'ü'.repeat(16),
    ]) {
      expect(checkToken(unfit), unfit).to.have.length(1);
      if (unfit !== '') expect(checkToken(unfit)[0]).to.not.include(unfit);
    }
  });
});
