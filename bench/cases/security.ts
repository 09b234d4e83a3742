import { join } from 'node:path';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { loadHttp } from '../http-load.ts';
import { creations, startedServer } from '../person-server.ts';
import { ratioAtLeast } from '../result-table.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';
import { besideFlood } from './beside-flood.ts';
import { besideOpen } from './beside-open.ts';

/**
 * What do an audit log, and the check of credentials and permissions, cost a request? What does a user notice of another one
 * who floods the server?
 */
export async function security(context: CaseContext): Promise<readonly Row[]> {
  return [...(await auditedCreates(context)), ...(await besideOpen(context)), ...(await besideFlood(context))];
}

async function auditedCreates({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using audited = new Child('api-server');
  await using plain = new Child('api-server');
  const audit = { logFile: join(folder, 'audit.log') };
  const auditedUrl = await startedServer(audited, { database: `sqlite:${join(folder, 'audited.db')}`, audit });
  const plainUrl = await startedServer(plain, { database: `sqlite:${join(folder, 'plain.db')}` });
  const { rounds, seconds } = settings;
  const request = creations('p');
  const load = (url: string) => () => loadHttp({ url, connections: 64, seconds, request });
  const found = await alternate(rounds, { ours: load(auditedUrl), limit: load(plainUrl) });
  return [{ name: 'http-create, audited at Metadata', ...found, target: ratioAtLeast(0.95, found) }];
}
