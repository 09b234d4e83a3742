import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { expect } from 'chai';
import { command } from './support/commands/command.ts';

const token = 'correct-horse-battery-staple';
const password = 'a long enough secret';

describe('homeostat user', () => {
  let server: ApiServer;

  before(async () => {
    server = await startApiServer({ database: 'memory:', port: 0, token });
  });

  after(async () => server.stop());

  async function run(args: readonly string[], input = ''): Promise<{ code: number; output: string }> {
    const all = ['user', ...args, '--server', server.url];
    const { code, stdout, stderr } = await command(all, { HOMEOSTAT_TOKEN: token }, input);
    return { code, output: stdout + stderr };
  }

  async function logIn(user: string, sent: string): Promise<number> {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ user, password: sent });
    return (await fetch(`${server.url}/login`, { method: 'POST', headers, body })).status;
  }

  it('adds and lists users, changes a password, and disables and enables a user', async () => {
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

  it('creates no user when the password is refused', async () => {
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
    it(`reports the mistake: ${text}`, async () => {
      const refused = await run(args, input);
      expect(refused.code).to.equal(1);
      expect(refused.output).to.include(text).and.not.include(password);
    });
  }
});
