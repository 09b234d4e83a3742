import { expect } from 'chai';
import { Client } from 'pg';

import { parsePostgresUrl } from './postgres-url.ts';

/** Returns the parts that the driver reads from a URL of one server. */
function driverReads(url: string): unknown {
  const { host, port, user, password, database } = new Client({ connectionString: url });
  return { host, port, user, password, database };
}

describe('parsePostgresUrl', () => {
  const several: readonly [url: string, servers: readonly string[]][] = [
    ['postgres://a,b/db', ['a:5432', 'b:5432']],
    ['postgresql://a:1,b/db', ['a:1', 'b:5432']],
    ['POSTGRES://a:1,b:65535,c:3/db', ['a:1', 'b:65535', 'c:3']],
    ['postgres://[::1]:1,[fe80::2],10.0.0.1:3/db', ['::1:1', 'fe80::2:5432', '10.0.0.1:3']],
    ['postgres://a,b/db?port=7', ['a:7', 'b:7']],
    ['postgres://a:1,b:2/db?port=7,8', ['a:7', 'b:8']],
    ['postgres://a,b/db?port=7,', ['a:7', 'b:5432']],
    ['postgres://x:9/db?host=a,::1', ['a:9', '::1:9']],
    ['postgres:///db?host=/run/postgresql,b&port=1,2', ['/run/postgresql:1', 'b:2']],
    ['postgres://%2Frun%2Fpg,b:2/db', ['/run/pg:5432', 'b:2']],
  ];
  for (const [url, servers] of several) {
    it(`reads ${url} as ${servers.join(' and ')}, in this order`, () => {
      const read = parsePostgresUrl(url).urls.map((each) => new Client({ connectionString: each }));
      expect(read.map(({ host, port }) => `${host}:${port}`)).to.deep.equal(servers);
      expect(read.map(({ database }) => database)).to.deep.equal(servers.map(() => 'db'));
    });
  }

  it('copies the user, password, database, options and sslmode of a URL of several servers to the URL of each server', () => {
    const { urls } = parsePostgresUrl(
      'postgres://me:s%40,c%2Fr@a,b:2/my%20db?host=c,d&options=-c%20x%3D1&sslmode=disable&target_session_attrs=any',
    );
    expect(urls).to.deep.equal([
      'postgres://me:s%40,c%2Fr@c/my%20db?options=-c%20x%3D1&sslmode=disable',
      'postgres://me:s%40,c%2Fr@d:2/my%20db?options=-c%20x%3D1&sslmode=disable',
    ]);
    expect(urls.map(driverReads)).to.deep.equal([
      { host: 'c', port: 5432, user: 'me', password: 's@,c/r', database: 'my db' },
      { host: 'd', port: 2, user: 'me', password: 's@,c/r', database: 'my db' },
    ]);
  });

  for (const url of ['postgres://u:p@h:5433/x?sslmode=require', 'postgresql:///x', 'postgres://[::1]/x?host=/run']) {
    it(`passes ${url}, which names one server, to the driver unchanged`, () => {
      expect(parsePostgresUrl(url)).to.deep.equal({ urls: [url], attributes: 'any' });
    });
  }

  for (const [url, attributes] of [
    ['postgres://a,b/db', 'read-write'],
    ['postgres://a,b/db?target_session_attrs=any', 'any'],
    ['postgres://a,b/db?target_session_attrs=primary', 'primary'],
    ['postgres://a/db?target_session_attrs=read-write', 'read-write'],
  ] as const) {
    it(`returns target_session_attrs ${attributes} for ${url}`, () => {
      expect(parsePostgresUrl(url).attributes).to.equal(attributes);
    });
  }

  for (const [url, reason] of [
    ['postgres:u:secret@db', 'percent-encode'],
    ['postgres://u:secret#1@db/x', 'percent-encode'],
    ['postgres://u:secret@a:port,b/x', '1 to 65535'],
    ['postgres://u:secret@a:0,b/x', '1 to 65535'],
    ['postgres://u:secret@a:65536/x', '1 to 65535'],
    ['postgres://u:secret@a:1:2,b/x', 'in brackets'],
    ['postgres://u:secret@::1,b/x', 'in brackets'],
    ['postgres://u:secret@[::g],b/x', 'cannot be read'],
    ['postgres://u:secret@/x', 'cannot be read'],
    ['postgres://u:secret@a,/x', 'no name'],
    ['postgres://u:secret@a,,b/x', 'no name'],
    ['postgres://u:secret@a/x?host=b,', 'no name'],
    ['postgres://u:secret@a,b/x?port=1,2,3', '3 ports for 2 hosts'],
    ['postgres://u:secret@a:1,b:2/x?host=c', '2 ports for 1 hosts'],
    ['postgres://u:secret@a,b,c,d,e,f,g,h,i/x', 'more than 8 hosts'],
    ['postgres://u:secret@a,b/x?target_session_attrs=prefer-standby', 'any, read-write or primary'],
    ['postgres://u:secret@a,b/x?target_session_attrs=', 'any, read-write or primary'],
    // A slash that is not encoded ends the authority, so the rest of the password is in the path.
    ['postgres://u:1/secret@a,b/x', 'percent-encode'],
  ] as const) {
    it(`refuses ${url} with a message that does not contain the password`, () => {
      const message = new RegExp(`^(?!.*secret).*${reason}`);
      expect(() => parsePostgresUrl(url)).to.throw(RangeError, message);
    });
  }
});
