import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { expect } from 'chai';

const script = fileURLToPath(new URL('../../plugins/host/bin/homeostat.js', import.meta.url));
const token = 'correct-horse-battery-staple';
const password = 'a long enough secret';

describe('homeostat user [slow]', () => {
  let server: ApiServer;

  before(async () => {
    server = await startApiServer({ database: 'memory:', port: 0, token });
  });

  after(async () => server.stop());

  async function run(args: readonly string[], input = ''): Promise<{ code: number | null; output: string }> {
    const env = { PATH: process.env['PATH'], HOMEOSTAT_TOKEN: token };
    const child = spawn(process.execPath, [script, 'user', ...args, '--server', server.url], { env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += String(piece)));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  }

  async function logIn(user: string, sent: string): Promise<number> {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ user, password: sent });
    return (await fetch(`${server.url}/login`, { method: 'POST', headers, body })).status;
  }

  it('adds a user, lists, changes the password, disables and enables', async () => {
    const added = await run(
      ['add', 'ada', '--group', 'devs', '--group', 'ops', '--display-name', 'Ada L'],
      `${password}\n`,
    );
    expect(added).to.deep.equal({ code: 0, output: 'added ada\n' });
    expect(await logIn('ada', password)).to.equal(204);
    const listed = await run(['list']);
    expect(listed.output).to.equal('NAME  DISABLED  GROUPS    DISPLAY NAME\nada   no        devs,ops  Ada L\n');
    expect(await run(['password', 'ada'], 'another long secret')).to.include({ code: 0 });
    expect([await logIn('ada', password), await logIn('ada', 'another long secret')]).to.deep.equal([401, 204]);
    expect((await run(['disable', 'ada'])).output).to.equal('disabled ada\n');
    expect(await logIn('ada', 'another long secret')).to.equal(401);
    expect((await run(['enable', 'ada'])).output).to.equal('enabled ada\n');
    expect(await logIn('ada', 'another long secret')).to.equal(204);
  });

  it('leaves no user behind whose password is refused', async () => {
    const refused = await run(['add', 'bob'], 'short\n');
    expect(refused.code).to.equal(1);
    expect(refused.output).to.include('must have 12 to 256 characters');
    expect((await run(['list'])).output).to.not.include('bob');
  });

  for (const [args, input, text] of [
    [['add', 'eve'], '', 'no password was given'],
    [['password', 'nobody'], password, 'there is no user "nobody"'],
    [['disable', 'nobody'], '', 'there is no user "nobody"'],
  ] as const) {
    it(`says what is wrong: ${text}`, async () => {
      const refused = await run(args, input);
      expect(refused.code).to.equal(1);
      expect(refused.output).to.include(text).and.not.include(password);
    });
  }
});
