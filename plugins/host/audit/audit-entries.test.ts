import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveAuditEntries } from './audit-entries.ts';

const token = 'correct-horse-battery-staple';
const path = '/apis/api.audit.internal/v1/entries';

interface Found {
  readonly complete: boolean;
  readonly items: readonly { readonly auditID: string }[];
}

/** Returns the entry `number` as a line of the log. Its time is that many seconds after the start of 2030. */
function line(number: number, more: object = {}): string {
  const stageTimestamp = new Date(Date.UTC(2030, 0, 1) + number * 1000).toISOString();
  const user = { username: number % 2 === 0 ? 'ada' : 'bob' };
  const objectRef = { resource: 'persons', apiGroup: 'people.example.com', name: `p${number}` };
  const entry = { auditID: String(number), verb: 'create', user, objectRef, stageTimestamp, ...more };
  return `${JSON.stringify({ ...entry, requestObject: { secret: 'x'.repeat(500) } })}\n`;
}

const lines = (first: number, last: number): string =>
  Array.from({ length: last - first + 1 }, (_, index) => line(first + index)).join('');

describe('the audit log over HTTP', () => {
  let server: ApiServer;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-audit-'));
    await writeFile(join(folder, 'audit-2030-01-01T00-10-00.000.log'), `${lines(1, 400)}{"cut off\n`);
    await writeFile(join(folder, 'audit.log'), lines(401, 1000));
    server = await startApiServer({ database: 'memory:', port: 0, token });
    serveAuditEntries(server, join(folder, 'audit.log'));
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function search(query: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${server.url}${path}?${query}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
  }

  const found = async (query: string): Promise<Found> => (await search(query)).json() as Promise<Found>;
  const ids = ({ items }: Found): readonly string[] => items.map(({ auditID }) => auditID);

  it('returns the newest entries first, also those of rotated files, and no bodies', async () => {
    const newest = await found('limit=3');
    expect(newest.complete).to.equal(false);
    expect(ids(newest)).to.deep.equal(['1000', '999', '998']);
    expect(newest.items[0]).not.to.have.property('requestObject');
    const early = await found('until=2030-01-01T00:06:41Z&limit=3');
    expect(ids(early)).to.deep.equal(['401', '400', '399']);
    const all = await found('user=ada&since=2030-01-01T00:06:35Z&until=2030-01-01T00:06:42Z');
    expect(all.complete).to.equal(true);
    expect(ids(all)).to.deep.equal(['402', '400', '398', '396']);
  });

  it('returns only entries with the resource, the name or the verb that the query has', async () => {
    expect(ids(await found('resource=persons.people.example.com&name=p7'))).to.deep.equal(['7']);
    expect(ids(await found('verb=delete'))).to.deep.equal([]);
  });

  it('refuses a wrong parameter with 400 and the name of the parameter, and a user without the permission with 403', async () => {
    for (const [query, text] of [
      ['since=yesterday', 'since: must be a time'],
      ['limit=501', 'limit: must be'],
      ['code=no', 'code: must be'],
    ] as const) {
      const refused = await search(query);
      expect([refused.status, await refused.text()].join(' ')).to.match(new RegExp(`^400 .*${text}`));
    }
    const eve = { 'impersonate-user': 'eve', 'impersonate-group': 'system:authenticated' };
    const refused = await search('', eve);
    expect([refused.status, await refused.text()].join(' ')).to.match(/^403 .*cannot list resource \\?"entries/);
  });

  it('responds with 404, and names --audit-log, when the server has no audit log', async () => {
    const without = await startApiServer({ database: 'memory:', port: 0, token });
    try {
      serveAuditEntries(without, undefined);
      const answer = await fetch(`${without.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      expect([answer.status, await answer.text()].join(' ')).to.match(/^404 .*--audit-log/);
    } finally {
      await without.stop();
    }
  });
});
