import { describeWithMysql, dropDatabases, freshDatabase, mysqlAuthority } from '../store/mysql/mysql.test-support.ts';
import { describeServer } from './server-restart.fixture.ts';

describeWithMysql('An API server on MySQL', () => {
  // After the server has stopped.
  after(dropDatabases);
  describe('that restarts', () =>
    describeServer(async () => `mysql:${mysqlAuthority}/${(await freshDatabase()).database}`));
});
