import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiServerOptions } from '@homeostat/apiserver';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import type { Flood } from '../children/flood.ts';
import { medianFigures } from '../figures.ts';
import type { Figures } from '../figures.ts';
import { formatRequest, loadHttp } from '../http-load.ts';
import { newPerson, personsPath, threeIndexes } from '../person.ts';
import { ratioAtLeast } from '../result-table.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

/** What does an audit log cost a create, and what does a user notice of another one who floods the server? */
export async function security(context: CaseContext): Promise<readonly Row[]> {
  return [...(await auditedCreates(context)), ...(await besideFlood(context))];
}

async function auditedCreates({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using audited = new Child('api-server');
  await using plain = new Child('api-server');
  const audit = { logFile: join(folder, 'audit.log') };
  const auditedUrl = await started(audited, { database: `sqlite:${join(folder, 'audited.db')}`, audit });
  const plainUrl = await started(plain, { database: `sqlite:${join(folder, 'plain.db')}` });
  const { rounds, seconds } = settings;
  const request = creations('p');
  const load = (url: string) => () => loadHttp({ url, connections: 64, seconds, request });
  const found = await alternate(rounds, { ours: load(auditedUrl), limit: load(plainUrl) });
  return [{ name: 'http-create, audited at Metadata', ...found, target: ratioAtLeast(0.95, found) }];
}

const floodConnections = 2000;
const [floodToken, userToken] = ['token-of-a-user-who-floods', 'token-of-another-user'];

/** The other user has 4 requests in flight: alone, and beside a user with 2,000. */
async function besideFlood({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  await using flood = new Child('flood');
  const tokenFile = join(folder, 'tokens.yaml');
  const owners = [floodToken, userToken].map((token, index) => ownerOf(token, `user-${index.toString()}`));
  await writeFile(tokenFile, `tokens: [${owners.join(', ')}]\n`, { mode: 0o600 });
  // All connections come from one address, and at once.
  const maxUnknownConnectionsPerAddress = 2 * floodConnections;
  const database = `sqlite:${join(folder, 'fairness.db')}`;
  const url = await started(server, { database, tokenFile, maxUnknownConnectionsPerAddress });
  const { rounds, seconds } = settings;
  const request = creations('q', userToken);
  const measure = (): Promise<Figures> => loadHttp({ url, connections: 4, seconds, request });
  const flooded: Figures[] = [];
  const alone: Figures[] = [];
  let floodOps = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const quiet = await measure();
    const flooding = flood.call<number>('run', {
      url,
      token: floodToken,
      connections: floodConnections,
      seconds: seconds + 3,
    } satisfies Flood);
    await untilBegun();
    const loud = await measure();
    floodOps = await flooding;
    if (round > 0) {
      alone.push(quiet);
      flooded.push(loud);
    }
  }
  const [ours, limit] = [medianFigures(flooded), medianFigures(alone)];
  const factor = (ours.p99Ms ?? Number.NaN) / (limit.p99Ms ?? Number.NaN);
  const note = `p99 is ${factor.toFixed(1)} times that of the user alone; the other user creates ${Math.round(floodOps).toString()}/s`;
  return [
    {
      name: 'creates beside a flood of 2,000',
      ours,
      limit,
      target: { text: 'p99 <= 3 x alone', isMet: factor <= 3 },
      note,
    },
  ];
}

/** The time that the flood needs to open its connections. */
function untilBegun(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2000));
}

async function started(child: Child, options: ApiServerOptions): Promise<string> {
  const url = await child.call<string>('startWith', options);
  await child.call('register', threeIndexes);
  return url;
}

function ownerOf(token: string, user: string): string {
  const sha256 = createHash('sha256').update(token).digest('hex');
  return `{ user: ${user}, groups: ['system:masters'], sha256: ${sha256} }`;
}

function creations(prefix: string, token?: string): () => string {
  let number = 0;
  return () => {
    number += 1;
    const body = JSON.stringify(newPerson({ name: `${prefix}-${number.toString()}`, number }));
    return formatRequest('POST', personsPath, token === undefined ? body : { body, token });
  };
}
