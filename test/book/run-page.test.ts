import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runPage } from './run-page.ts';
import { planPage } from './steps.ts';

describe('runPage', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-page-'));
  });

  after(async () => rm(folder, { recursive: true }));

  const faultOf = async (page: string): Promise<string | undefined> =>
    runPage(planPage(page), { folder, programs: folder }).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );

  it('runs all code blocks of a page in one shell', async () => {
    const page =
      '```sh\na=1\n```\n\n```console\n$ echo $a\n1\n```\n\n<!-- sh\necho 2\n-->\n<!-- output -->\n\n```\n2\n```\n';
    expect(await faultOf(page)).to.equal(undefined);
  });

  it('reports the line of a command whose output differs from the page, with both texts', async () => {
    const fault = await faultOf('Text\n\n```console\n$ echo a\na\n$ echo b\nc\n```\n');
    expect(fault).to.match(/^line 6: this is shown:\nc\n\nbut this was printed:\nb\n$/);
  });

  it('reports the line at which a script fails, with the output before the failure', async () => {
    expect(await faultOf('```sh\necho before\nfalse\necho behind\n```\n')).to.match(/^line 2: .*\nbefore\n$/);
  });

  it('fails when curl cannot connect, or a server does not start [slow]', async () => {
    expect(await faultOf('```sh\ncurl http://127.0.0.1:8700/\n```\n')).to.match(/^line 2: /);
    expect(await faultOf('```sh\ncurl -N http://127.0.0.1:8700/\n```\n')).to.match(/^line 2: /);
    expect(await faultOf('```sh\nhomeostat serve --port x\n```\n')).to.include('the server did not start');
  });

  it('refuses a page with a code block that it can neither run nor check, and runs no other block of the page', async () => {
    expect(await faultOf('```sh\nfalse\n```\n\n```json\n{}\n```\n')).to.match(/^line 6: no test covers this fence/);
  });
});
