import { expect } from 'chai';

import { fromDriver, isTransient, storeErrorFrom } from './mysql-errors.ts';

function driverError(errno: number, message = 'message'): object {
  return Object.assign(new Error(message), { errno, sqlState: 'HY000', sql: 'the text of the statement' });
}

describe('errors of MySQL', () => {
  for (const [errno, message, code] of [
    [1021, 'Disk full', 'full'],
    [1114, "The table 'log' is full", 'full'],
    [1030, 'Got error 28 "No space left on device" from storage engine InnoDB', 'full'],
    [1030, 'Got error 5 from storage engine', 'io'],
    [1290, 'The MySQL server is running with the --read-only option', 'readOnly'],
    [1792, 'Cannot execute statement in a READ ONLY transaction', 'readOnly'],
    [1205, 'Lock wait timeout exceeded', 'locked'],
    [1213, 'Deadlock found', 'locked'],
    [1712, 'Index log is corrupted', 'corrupt'],
    [1040, 'Too many connections', 'io'],
    [1406, 'Data too long', 'refused'],
  ] as const) {
    it(`reports ${errno} (${message}) as ${code}`, () => {
      const error = storeErrorFrom(fromDriver(driverError(errno, message)), 'mysql://host:3306/db');
      expect(error).to.include({ name: 'StoreError', code, message: `mysql://host:3306/db: ${message}` });
    });
  }

  it('reports io, as for a lost connection, for every error that does not come from the server', () => {
    for (const code of ['ECONNREFUSED', 'ETIMEDOUT', 'PROTOCOL_CONNECTION_LOST']) {
      const error = fromDriver(Object.assign(new Error(''), { code, errno: -111 }));
      expect(storeErrorFrom(error, 'db')).to.include({ code: 'io', message: `db: ${code}` });
    }
  });

  it('regards only deadlocks, interruptions, shutdowns and lost connections as transient', () => {
    for (const errno of [1213, 1317, 1053, 1927, 3169, 4031]) {
      expect(isTransient(fromDriver(driverError(errno))), `${errno}`).to.equal(true);
    }
    expect(isTransient(fromDriver(new Error('gone')))).to.equal(true);
    for (const errno of [1205, 1290, 1062]) expect(isTransient(fromDriver(driverError(errno)))).to.equal(false);
  });

  it('omits the SQL statement, which contains users’ data, from the error', () => {
    const error = storeErrorFrom(fromDriver(driverError(1062)), 'db');
    expect(JSON.stringify([error, error.cause, { ...Object(error.cause) }])).not.to.include('statement');
  });
});
