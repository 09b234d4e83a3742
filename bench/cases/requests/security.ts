import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { HttpConnection } from '../../load/http-load.ts';
import { besideOther } from '../../load/beside.ts';
import { creations, startedServer } from '../../load/person-server.ts';
import type { Row } from '../../measure/result-table.ts';
import { besideFlood } from './beside-flood.ts';
import { besideOpen } from './beside-open.ts';

/**
 * Measures how much a request is slowed down by an audit log, by the checks of credentials and permissions, and by
 * another user who floods the server.
 */
export async function security(context: CaseContext): Promise<readonly Row[]> {
  return [
    ...(await auditedCreates(context)),
    ...(await besideOpen(context)),
    ...('creates while another user floods the server'.includes(context.only) ? await besideFlood(context) : []),
  ];
}

const audited = 'http-create, audited at Metadata';
const leastAudited = 'http-create, one log line of the same length for each create';

/**
 * Compares creates without a log with creates that write an audit log, and with creates that write the cheapest
 * possible log.
 */
async function auditedCreates({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  if (!audited.includes(only) && !leastAudited.includes(only)) return [];
  await using logging = new Child('api-server');
  await using writing = new Child('api-server');
  await using plain = new Child('api-server');
  const audit = { logFile: join(folder, 'audit.log') };
  const url = await startedServer(logging, { database: `sqlite:${join(folder, 'audited.db')}`, audit });
  const writingUrl = await startedServer(writing, { database: `sqlite:${join(folder, 'writing.db')}` });
  const plainUrl = await startedServer(plain, { database: `sqlite:${join(folder, 'plain.db')}` });
  const limit = { child: plain, url: plainUrl, request: creations('p') };
  const rows: Row[] = [];
  if (audited.includes(only)) {
    const ours = { child: logging, url, request: creations('p') };
    rows.push(await besideOther(audited, { ours, limit, least: 0.95 }, settings));
  }
  if (leastAudited.includes(only)) {
    await writing.call('writeLines', { path: join(folder, 'lines.log'), line: await auditLine(url, audit.logFile) });
    const ours = { child: writing, url: writingUrl, request: creations('p') };
    rows.push(await besideOther(leastAudited, { ours, limit }, settings));
  }
  return rows;
}

/** Creates an object, and returns the line that the server writes to its audit log for it. */
async function auditLine(url: string, file: string): Promise<string> {
  using connection = await HttpConnection.connect(url);
  await connection.send(creations('line')());
  for (;;) {
    const line = (await readFile(file, 'utf8')).split('\n').find((each) => each.includes('"line-1"'));
    if (line !== undefined) return `${line}\n`;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
