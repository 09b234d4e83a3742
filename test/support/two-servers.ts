import type { ApiServerOptions } from '@homeostat/apiserver';
import { TestDatabase } from './postgres-server.ts';
import { TestServer } from './test-server.ts';

/**
 * Two servers on one database, started at the same time. Call it where mocha collects tests; the servers exist only
 * while they run.
 */
export function useTwoServers(options: ApiServerOptions = {}): readonly TestServer[] {
  const servers: TestServer[] = [];
  let database: TestDatabase | undefined;
  before(async function start() {
    const { url } = (database = await TestDatabase.create(this));
    servers.push(...(await Promise.all([0, 1].map(async () => TestServer.start({ ...options, database: url })))));
  });
  after(async () => {
    await Promise.all(servers.map(async (server) => server.stop()));
    await database?.drop();
  });
  return servers;
}
