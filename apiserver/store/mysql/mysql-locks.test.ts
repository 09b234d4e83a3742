import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { MysqlConnection } from './mysql-connection.ts';
import { administer, describeWithMysql, dropDatabases, freshDatabase, storeOn } from './mysql.test-support.ts';
import { type MysqlDatabase, nameOf } from './mysql-url.ts';
import { openStore } from '../open/database-url.ts';
import { create, rejectionOf, scanned, written } from '../store-operations.fixture.ts';
import type { Store } from '../store.ts';

describeWithMysql('MySQL store, with other stores on the database', () => {
  let database: MysqlDatabase;
  let stores: Store[];

  beforeEach(async () => {
    database = await freshDatabase();
    stores = [];
  });

  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await dropDatabases();
  });

  const make = (exclusive = false): Store => {
    const store = storeOn(database, { exclusive });
    stores.push(store);
    return store;
  };

  const lock = (place: number): string => `CONCAT('homeostat:', SHA1('${database.database}'), ':${place}')`;
  const holderOf = async (place: number): Promise<unknown> => {
    return (await administer(`SELECT IS_USED_LOCK(${lock(place)})`, 'DO 0'))[0]?.[0]?.[0];
  };

  it('has the same epoch as others when several stores open an empty database at the same time', async () => {
    const opened = await Promise.all([make(), make(), make(), make()].map((store) => store.open()));
    expect(new Set(opened.map(({ epoch }) => epoch)).size).to.equal(1);
    for (const [at, store] of stores.entries()) {
      expect(await written(store, create(`n${at}`, ''))).to.deep.equal([at + 1]);
    }
  });

  it('refuses to open exclusively while other stores are open, and names their connections [slow]', async () => {
    const [a, b] = [make(), make()];
    await Promise.all([a.open(), b.open()]);
    const holders = [await holderOf(0), await holderOf(1)];
    const error = await rejectionOf(make(true).open());
    expect(error).to.include({ name: 'StoreError', code: 'locked' });
    expect(String(error))
      .to.include(nameOf(database))
      .and.to.include(`connections ${holders.join(', ')})`);
    await a.close();
    expect(String(await rejectionOf(make(true).open()))).to.match(/connection \d+\)/);
    await written(b, create('b', ''));
    await b.close();
    await make(true).open();
  });

  it('excludes other stores while it is open exclusively, but not after it is closed [slow]', async () => {
    const alone = make(true);
    await alone.open();
    for (const exclusive of [false, true]) {
      const error = await rejectionOf(make(exclusive).open());
      expect(error).to.include({ name: 'StoreError', code: 'locked' });
      expect(String(error))
        .to.include(nameOf(database))
        .and.to.include(`connection ${String(await holderOf(63))})`);
    }
    await written(alone, create('a', ''));
    await alone.close();
    const next = make();
    await next.open();
    expect(await scanned(next)).to.have.lengthOf(1);
  });

  it('waits a moment for the locks of a process that is just ending', async () => {
    const alone = make(true);
    await alone.open();
    const opening = make().open();
    await eventually(async () => {
      const [waiting] = await administer(
        `SELECT id FROM information_schema.processlist WHERE db = '${database.database}' AND state = 'User lock'`,
      );
      return waiting?.length === 1;
    });
    await alone.close();
    expect(await opening).to.include({ revision: 0 });
  });

  it('takes all its locks again when it is open exclusively and has lost its connection [slow]', async () => {
    const alone = make(true);
    await alone.open();
    const before = await holderOf(0);
    await administer(`KILL ${String(before)}`);
    await eventually(async () => ![before, null].includes((await holderOf(63)) as number));
    expect(await rejectionOf(make().open())).to.include({ code: 'locked' });
  });

  it('refuses to open a database in a 65th store, and names the limit of 64 in the error [slow]', async () => {
    const others = await MysqlConnection.open(database, systemClock);
    for (let place = 0; place < 63; place += 1) await others.query(`SELECT GET_LOCK(${lock(place)}, 0)`);
    await make().open();
    const error = await rejectionOf(make().open());
    expect(error).to.include({ name: 'StoreError', code: 'refused' });
    expect(String(error)).to.include('open in 64 processes or stores');
    await others.end();
    await eventually(async () => (await holderOf(0)) === null);
    await make().open();
  });

  it('excludes a second store when openStore has opened the first one with exclusive: true', async () => {
    const { host, port, user, password } = database;
    const url = `mysql://${user}:${encodeURIComponent(password)}@${host}:${port}/${database.database}`;
    const environment = { clock: systemClock, logger: silentLogger, uuid: randomUUID };
    const alone = await openStore(url, environment, { exclusive: true });
    stores.push(alone);
    await alone.open();
    const second = await openStore(url, environment);
    expect(await rejectionOf(second.open())).to.include({ code: 'locked' });
  });
});
