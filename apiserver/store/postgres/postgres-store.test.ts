import { PostgresTestServer } from './postgres-database.test-support.ts';
import { describeDurableStore, describeStoreContract } from '../store.contract.ts';

describe('PostgreSQL', () => {
  const server = PostgresTestServer.use();

  describeStoreContract('PostgreSQL', () => server.open());
  describeDurableStore('PostgreSQL', () => server.open());
});
