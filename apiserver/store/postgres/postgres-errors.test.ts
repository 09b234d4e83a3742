import { expect } from 'chai';

import { isServerError, storeErrorFrom } from './postgres-errors.ts';

/** Returns the driver's error for an error message of the server. `severity` is in the language of the server. */
function serverError(code: string, fields: object = {}): Error {
  return Object.assign(new Error('it says'), { code, severity: 'FEHLER', ...fields });
}

describe('errors of PostgreSQL', () => {
  for (const [what, sqlstate, code] of [
    ['a read-only server', '25006', 'readOnly'],
    ['a full disk', '53100', 'full'],
    ['no free connection', '53300', 'io'],
    ['a lock that another session has', '55P03', 'locked'],
    ['a statement that took too long', '57014', 'io'],
    ['a server that shuts down', '57P01', 'io'],
    ['a failing disk', '58030', 'io'],
    ['a damaged page', 'XX001', 'corrupt'],
    ['a damaged index', 'XX002', 'corrupt'],
    ['an internal error', 'XX000', 'io'],
    ['a missing value', '23502', 'refused'],
    ['a wrong password', '28P01', 'refused'],
  ] as const) {
    it(`reports ${what} as ${code}`, () => {
      expect(storeErrorFrom(serverError(sqlstate), 'doing')).to.include({ code, message: 'doing: it says' });
    });
  }

  it('distinguishes a failed statement from a failed connection', () => {
    const failures = [serverError('57P01'), Object.assign(new Error('reset'), { code: 'ECONNRESET' }), new Error('x')];
    expect([serverError('23502'), ...failures].map(isServerError)).to.deep.equal([true, false, false, false]);
    expect(storeErrorFrom(failures[1], 'doing')).to.include({ code: 'io' });
  });

  it('names the error of each address of a host', () => {
    const error = new AggregateError([new Error('refused ::1'), new Error('refused 127.0.0.1')], '');
    expect(storeErrorFrom(error, 'doing').message).to.equal('doing: refused ::1; refused 127.0.0.1');
  });

  it('omits the failed row from the error, so that its values are not logged', () => {
    const error = storeErrorFrom(
      serverError('23502', { detail: 'Failing row contains (secret)', where: 'secret' }),
      '',
    );
    expect(JSON.stringify([error, error.cause])).not.to.include('secret');
  });
});
