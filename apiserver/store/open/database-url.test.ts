import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';

import { openStore, parseDatabaseUrl } from './database-url.ts';
import { openDatabaseOwner } from './open-owner.ts';

describe('database URLs', () => {
  for (const [url, path] of [
    ['sqlite:./data/homeostat.db', './data/homeostat.db'],
    ['sqlite:data.db', 'data.db'],
    ['sqlite:///var/lib/homeostat.db', '/var/lib/homeostat.db'],
    ['sqlite:/var/lib/homeostat.db', '/var/lib/homeostat.db'],
    ['SQLITE:a b%20c.db', 'a b%20c.db'],
  ] as const) {
    it(`reads ${url}`, () => {
      expect(parseDatabaseUrl(url)).to.deep.equal({ engine: 'sqlite', path });
    });
  }

  for (const url of ['', 'homeostat.db', 'sqlite:', 'sqlite://', 'sqlite://host/file', 'sqlite:dir/', 'memory:x']) {
    it(`refuses ${JSON.stringify(url)}`, () => {
      expect(() => parseDatabaseUrl(url)).to.throw(RangeError);
    });
  }

  for (const url of ['postgres://u:secret@db:5433/x?sslmode=require', 'PostgreSQL://db/x', 'postgres:///x?host=/run']) {
    it(`passes ${url} to the driver unchanged`, () => {
      expect(parseDatabaseUrl(url)).to.deep.equal({ engine: 'postgres', url });
    });
  }

  it('refuses a text that is not a URL or that no driver supports, with a message without the password', () => {
    for (const url of ['postgres://u:secret@db:port/x', 'postgres:u:secret@db', 'oracle://u:secret@db/x']) {
      expect(() => parseDatabaseUrl(url)).to.throw(RangeError, /^(?!.*secret)(not the URL|.*URL scheme "oracle")/);
    }
  });

  it('may name a file descriptor or socket to the process that has SQLite open; openStore with `exclusive` refuses such URLs', async () => {
    for (const owner of ['fd:4', '/run/homeostat/socket?x'])
      expect(parseDatabaseUrl(`sqlite:./a.db?owner=${owner}`)).to.deep.equal({
        engine: 'sqlite',
        path: './a.db',
        owner,
      });
    expect(parseDatabaseUrl('sqlite:a?b.db')).to.deep.equal({ engine: 'sqlite', path: 'a?b.db' });
    const environment = { clock: systemClock, logger: silentLogger, uuid: randomUUID };
    const alone = openStore('sqlite:./a.db?owner=fd:4', environment, { exclusive: true });
    expect(await alone.catch((error: unknown) => error)).to.include({ name: 'StoreError', code: 'locked' });
    const absent = await openStore('sqlite:./a.db?owner=./no-such-socket', environment);
    expect(await absent.open().catch((error: unknown) => error)).to.include({ name: 'StoreError', code: 'crashed' });
    await absent.close();
  });

  it('openDatabaseOwner rejects every URL that is not of a SQLite file', async () => {
    for (const url of ['memory:', 'postgres://u@h/d', 'sqlite:a.db?owner=fd:4'])
      expect(await openDatabaseOwner(url).catch((error: unknown) => error), url).to.be.instanceOf(RangeError);
  });

  it('openStore returns a store that is not open yet', async () => {
    const store = await openStore('memory:', { clock: systemClock, logger: silentLogger, uuid: randomUUID });
    expect(await store.open()).to.include({ revision: 0 });
    await store.close();
  });
});
