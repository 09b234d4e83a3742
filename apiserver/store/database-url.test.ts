import { expect } from 'chai';

import { openStore, parseDatabaseUrl } from './database-url.ts';

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

  it('says that there is no driver for servers yet, without repeating the password', () => {
    for (const url of ['postgres://u:secret@db/x', 'mysql://u:secret@db/x']) {
      expect(() => parseDatabaseUrl(url)).to.throw(RangeError, /no driver for (postgres|mysql): .*yet(?!.*secret)/);
    }
  });

  it('makes the store of a URL, which is then to be opened', async () => {
    const store = await openStore('memory:');
    expect(await store.open()).to.include({ revision: 0 });
    await store.close();
  });
});
