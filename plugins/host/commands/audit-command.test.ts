import { startApiServer } from '@homeostat/apiserver';
import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './run-command.fixture.ts';

interface EntryParts {
  readonly time: string;
  readonly user: string;
  readonly verb: string;
  readonly name: string;
  readonly code: number;
  readonly as?: string;
}

function entry({ time, user, verb, name, code, as }: EntryParts): string {
  return JSON.stringify({
    kind: 'Event',
    stage: 'ResponseComplete',
    verb,
    requestURI: `/api/v1/namespaces/n/things/${name}`,
    user: { username: user },
    ...(as === undefined ? {} : { impersonatedUser: { username: as } }),
    sourceIPs: ['10.0.0.1'],
    objectRef: { resource: 'things', namespace: 'n', name, apiGroup: 'example.com', subresource: 'status' },
    responseStatus: { code },
    stageTimestamp: time,
  });
}

describe('homeostat audit', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-command-'));
    file = join(folder, 'audit.log');
    const old = [entry({ time: '2026-01-01T00:00:00.000000Z', user: 'ann', verb: 'create', name: 'a', code: 201 })];
    const recent = [
      entry({ time: '2026-01-02T00:00:00.123000Z', user: 'bob', verb: 'delete', name: 'b', code: 403 }),
      entry({
        time: '2026-01-03T00:00:00.000000Z',
        user: 'root',
        as: 'ann',
        verb: 'get',
        name: 'c\u001b[2J',
        code: 200,
      }),
      '{"kind":"Event","cut o',
    ];
    await writeFile(join(folder, 'audit-2026-01-01T12-00-00.000.log'), `${old.join('\n')}\n`);
    await writeFile(file, `${recent.join('\n')}\n`);
  });

  afterEach(() => rm(folder, { recursive: true }));

  async function names(...flags: readonly string[]): Promise<readonly string[]> {
    const { code, stdout, stderr } = await runCommand(['audit', '--file', file, '-o', 'json', ...flags]);
    expect(code, stderr).to.equal(0);
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { objectRef: { name: string } }).objectRef.name.slice(0, 1));
  }

  it('prints the entries of the file and of its rotated files, oldest first, and no control characters', async () => {
    const { stdout } = await runCommand(['audit'], { HOMEOSTAT_AUDIT_LOG: file });
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head).to.match(/^TIME +USER +VERB +RESOURCE +CODE +FROM$/);
    expect(rows).to.have.length(3);
    expect(rows[1]).to.match(
      /^2026-01-02T00:00:00.123Z +bob +delete +things.example.com -n n b \/status +403 +10.0.0.1$/,
    );
    expect(rows[2]).to.include('ann (by root)').and.to.include('c?[2J');
  });

  it('prints only the entries that match all options', async () => {
    expect(await names()).to.deep.equal(['a', 'b', 'c']);
    expect(await names('--user', 'ann')).to.deep.equal(['a', 'c']);
    expect(await names('--user', 'ann', '--verb', 'get')).to.deep.equal(['c']);
    expect(await names('--code', '403')).to.deep.equal(['b']);
    expect(await names('--since', '2026-01-02T00:00:00Z')).to.deep.equal(['b', 'c']);
    expect(await names('--since', '1m')).to.deep.equal([]);
    expect(await names('--resource', 'things.example.com', '--name', 'a')).to.deep.equal(['a']);
    expect(await names('--resource', 'things/status', '-n', 'n')).to.deep.equal(['a', 'b', 'c']);
    expect(await names('--resource', 'things/scale')).to.deep.equal([]);
  });

  it('prints the failed logins of a user', async () => {
    const logFile = join(folder, 'logins.log');
    const token = 'correct-horse-battery-staple';
    const server = await startApiServer({ database: 'memory:', port: 0, token, audit: { logFile } });
    try {
      const headers = { 'content-type': 'application/json' };
      for (const user of ['ada', 'bob']) {
        const body = JSON.stringify({ user, password: 'guessed' });
        expect((await fetch(`${server.url}/login`, { method: 'POST', headers, body })).status).to.equal(401);
      }
    } finally {
      await server.stop();
    }
    const { stdout } = await runCommand(['audit', '--file', logFile, '--user', 'ada', '--code', '401']);
    const [, ...rows] = stdout.trimEnd().split('\n');
    expect(rows).to.have.length(1);
    expect(rows[0]).to.match(/^\S+Z +ada +post +\/login +401 +127\.0\.0\.1$/);
  });

  it('names an invalid argument and exits with 2; exits with 1 when the file does not exist', async () => {
    for (const [flags, message] of [
      [['--code', '99'], '--code: must be a status code'],
      [['--since', 'monday'], '--since: must be a time (2026-01-31T12:00:00Z) or an age'],
      [['-o', 'yaml'], '-o: must be table or json'],
    ] as const) {
      const { code, stderr } = await runCommand(['audit', '--file', file, ...flags]);
      expect(code).to.equal(2);
      expect(stderr).to.include(message);
    }
    expect((await runCommand(['audit'])).stderr).to.include('--file (or HOMEOSTAT_AUDIT_LOG) is needed');
    const absent = await runCommand(['audit', '--file', join(folder, 'other.log')]);
    expect([absent.code, absent.stderr.includes('does not exist')]).to.deep.equal([1, true]);
  });
});
