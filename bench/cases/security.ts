import { join } from 'node:path';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { besideOther } from '../beside.ts';
import { creations, startedServer } from '../person-server.ts';
import type { Row } from '../result-table.ts';
import { besideFlood } from './beside-flood.ts';
import { besideOpen } from './beside-open.ts';

/**
 * What do an audit log, and the check of credentials and permissions, cost a request? What does a user notice of another one
 * who floods the server?
 */
export async function security(context: CaseContext): Promise<readonly Row[]> {
  return [
    ...(await auditedCreates(context)),
    ...(await besideOpen(context)),
    ...('creates beside a flood'.includes(context.only) ? await besideFlood(context) : []),
  ];
}

const audited = 'http-create, audited at Metadata';

async function auditedCreates({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  if (!audited.includes(only)) return [];
  await using logging = new Child('api-server');
  await using plain = new Child('api-server');
  const audit = { logFile: join(folder, 'audit.log') };
  const url = await startedServer(logging, { database: `sqlite:${join(folder, 'audited.db')}`, audit });
  const plainUrl = await startedServer(plain, { database: `sqlite:${join(folder, 'plain.db')}` });
  const ours = { child: logging, url, request: creations('p') };
  const limit = { child: plain, url: plainUrl, request: creations('p') };
  return [await besideOther(audited, { ours, limit, least: 0.95 }, settings)];
}
