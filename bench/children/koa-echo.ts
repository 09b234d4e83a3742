// The limit of HTTP: bare koa that parses a body and sends it back, or stores it before it does. GET answers what was sent last.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import Koa from 'koa';
import getRawBody from 'raw-body';
import { answerCalls } from '../answer-calls.ts';
import type { Person } from '../person.ts';
import { loadStoreModule } from '../store-modules.ts';
import type { GroupCommit } from '../store-modules.ts';

let last: Buffer = Buffer.alloc(0);
let commits: GroupCommit | undefined;

const app = new Koa();
app.use(async (context) => {
  context.set('Content-Type', 'application/json');
  if (context.method === 'GET') {
    context.body = last;
    return;
  }
  const text = await getRawBody(context.req, { limit: '3mb', encoding: 'utf8' });
  const object = JSON.parse(text) as Person;
  const data = Buffer.from(JSON.stringify(object));
  const key = `/registry/people.example.com/persons/${object.metadata.name}`;
  await commits?.submit({ op: 'create', kind: 1, key, data });
  last = data;
  context.status = context.method === 'POST' ? 201 : 200;
  context.body = data;
});

async function openStore(database: string): Promise<void> {
  const { openStore: open } = await loadStoreModule('database-url');
  const { GroupCommit: Commits } = await loadStoreModule('group-commit');
  const store = await open(database, { clock: systemClock, logger: silentLogger, uuid: randomUUID });
  await store.open();
  commits = new Commits(store, { onError: (error) => console.error(error) });
}

answerCalls({
  start: async (database?: string) => {
    if (database !== undefined) await openStore(database);
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  },
});
