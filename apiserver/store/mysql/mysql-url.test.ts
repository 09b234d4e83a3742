import { expect } from 'chai';

import { nameOf, parseMysqlUrl } from './mysql-url.ts';

describe('MySQL URLs', () => {
  it('have user, password, host, port and database, which are percent-decoded', () => {
    expect(parseMysqlUrl('mysql://us%40er:p%2Fw%3A%23@db.example.com:3307/home%20stat')).to.deep.equal({
      host: 'db.example.com',
      port: 3307,
      user: 'us@er',
      password: 'p/w:#',
      database: 'home stat',
      sslMode: 'DISABLED',
    });
  });

  it('need no port and no password, and may have the scheme mariadb and an ssl-mode', () => {
    expect(parseMysqlUrl('mariadb://root@[::1]/db?ssl-mode=VERIFY_IDENTITY')).to.deep.equal({
      host: '::1',
      port: 3306,
      user: 'root',
      password: '',
      database: 'db',
      sslMode: 'VERIFY_IDENTITY',
    });
  });

  for (const url of [
    'mysql://secret@host',
    'mysql://secret@host/',
    'mysql:///secret',
    'mysql://host/secret',
    'mysql://u:secret@host/a/b',
    'mysql://u:secret@host/a%2Fb',
    'mysql://u:secret@host/a%00b',
    'mysql://u:secret@host/%zz',
    'mysql://u:secret@host:99999/db',
    'mysql://u:secret@host/db?ssl-mode=PREFERRED',
    'mysql://u:secret@host/db?multipleStatements=secret',
    'mysql://u:secret@host/db#secret',
    `mysql://u:secret@host/${'d'.repeat(65)}`,
    'mysql:secret',
  ]) {
    it(`are refused with a message that does not contain the URL: ${url}`, () => {
      expect(() => parseMysqlUrl(url)).to.throw(RangeError, /^not a MySQL URL(?!.*secret)/);
    });
  }

  it('have a name for messages, which contains neither user nor password', () => {
    expect(nameOf(parseMysqlUrl('mysql://u:secret@[::1]:3307/db'))).to.equal('mysql://[::1]:3307/db');
  });
});
