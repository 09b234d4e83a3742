import { describeWithMysql, dropDatabases, freshDatabase, mysqlAuthority } from '../store/mysql/mysql.test-support.ts';
import { describeServer } from './server-restart.fixture.ts';

describeWithMysql('An API server on MySQL', () => {
  // This hook runs after the hooks of the suites below, so the server has stopped before the databases are dropped.
  after(dropDatabases);
  describe('that restarts', () =>
    describeServer(async () => `mysql:${mysqlAuthority}/${(await freshDatabase()).database}`));
});
