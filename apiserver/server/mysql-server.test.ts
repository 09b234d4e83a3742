import { describeWithMysql, dropDatabases, freshDatabase, mysqlAuthority } from '../store/mysql/mysql.test-support.ts';
import { describeServer } from './server-restart.fixture.ts';

describeWithMysql('An API server on MySQL', () => {
  // This hook runs after those of the tests below, so the server has stopped by then.
  after(dropDatabases);
  describe('that restarts', () =>
    describeServer(async () => `mysql:${mysqlAuthority}/${(await freshDatabase()).database}`));
});
