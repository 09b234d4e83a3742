import { join } from 'node:path';
import { besideOther } from '../../load/beside.ts';
import type { Served } from '../../load/beside.ts';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { formatRequest, HttpConnection } from '../../load/http-load.ts';
import { personsPath } from '../../load/person.ts';
import { protectedServer, creations, startedServer, userToken } from '../../load/person-server.ts';
import type { Row } from '../../measure/result-table.ts';

/**
 * The time that the benchmark waits until one user has all seats. After requests of two users, each user has only a few
 * seats for 10 s.
 */
const untilAloneMs = 11_000;

/**
 * Compares creates and gets on two servers: one with `--auth required`, where the user has a token and a role, and one
 * with `--auth open`.
 */
export async function besideOpen({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  await using required = new Child('api-server');
  await using open = new Child('api-server');
  const url = await protectedServer(required, join(folder, 'required'));
  const openUrl = await startedServer(open, { database: `sqlite:${join(folder, 'open.db')}`, auth: 'open' });
  for (const [server, token] of [[url, userToken], [openUrl]] as const) {
    using connection = await HttpConnection.connect(server);
    await connection.send(creations('read', token)());
  }
  // The administrator has just written roles. For 10 s after these requests, another user has only a few seats, and so
  // only a few writes at a time. The benchmark waits until this user has all seats.
  await new Promise((resolve) => setTimeout(resolve, untilAloneMs));
  const asking = (request: () => string): Served => ({ child: required, url, request });
  const asked = (request: () => string): Served => ({ child: open, url: openUrl, request });
  const get = (sent?: { readonly token: string }) => (): string => formatRequest('GET', `${personsPath}/read-1`, sent);
  const token = userToken;
  const rows = [
    {
      name: 'http-create: a server with --auth required, compared with a server with --auth open',
      ours: asking(creations('r', token)),
      limit: asked(creations('r')),
    },
    {
      name: 'http-get: a server with --auth required, compared with a server with --auth open',
      ours: asking(get({ token })),
      limit: asked(get()),
    },
    // The next two rows show the least possible cost of a token: a server with `--auth open` receives the token, but
    // does not read it.
    {
      name: 'http-create: requests with a token that the server ignores, compared with requests without a token',
      ours: asked(creations('s', token)),
      limit: asked(creations('t')),
    },
    {
      name: 'http-get: requests with a token that the server ignores, compared with requests without a token',
      ours: asked(get({ token })),
      limit: asked(get()),
    },
  ];
  const found: Row[] = [];
  for (const { name, ours, limit } of rows) {
    if (!name.includes(only)) continue;
    found.push(await besideOther(name, ours.child === open ? { ours, limit } : { ours, limit, least: 0.95 }, settings));
  }
  return found;
}
