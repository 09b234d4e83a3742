import type { ApiServerOptions } from '@homeostat/apiserver';
import { describeOnShared } from '../databases/shared-databases.ts';
import type { SharedDatabase } from '../databases/shared-databases.ts';
import { TestServer } from './test-server.ts';

/**
 * Describes a suite once for each engine, with two servers on one database. The servers start at the same time, and run
 * during the tests.
 */
export function describeTwoServers(
  title: string,
  suite: (servers: readonly TestServer[]) => void,
  options: ApiServerOptions = {},
): void {
  describeOnShared(title, (create) => {
    const servers: TestServer[] = [];
    let database: SharedDatabase | undefined;
    before(async function start() {
      const { url } = (database = await create(this));
      servers.push(...(await Promise.all([0, 1].map(async () => TestServer.start({ ...options, database: url })))));
    });
    after(async () => {
      await Promise.all(servers.map(async (server) => server.stop()));
      await database?.drop();
    });
    suite(servers);
  });
}
