import { controller } from '@homeostat/controller-runtime';
import { controllerModel, defineModel, runModel, silentLogger } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { runCommand } from '../../commands/run-command.fixture.ts';
import type { Finished } from '../../commands/run-command.fixture.ts';
import { startTestServer } from '../../testing/index.ts';
import type { TestServer } from '../../testing/index.ts';
import { topScreen } from '../output/controller-screen.ts';

const Book = defineModel({
  gvk: 'library.example.com/v1/Book',
  plural: 'books',
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { title: { type: 'string' } } } },
  } as const,
});

const books = controller(Book, {
  reconcile: ({ object }) => {
    if (object.spec?.title === 'torn') throw new Error('a page\u001b[31m is missing');
  },
  cleanup: ({ object }) => {
    if (object.spec?.title === 'lent') throw new Error('it is not back');
  },
});

describe('Commands about controllers', () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer({ models: [Book], controllers: [books], logger: silentLogger, reportRuns: true });
    for (const title of ['good', 'torn', 'lent'])
      await server.client.create(Book, { metadata: { name: title }, spec: { title } });
    await server.settle();
    await server.client.delete(Book, 'lent');
    const failing = async (): Promise<number> =>
      (await server.client.get(controllerModel, 'test.book')).status?.queue.failing ?? 0;
    await eventually(async () => (await failing()) === 2);
    await eventually(async () => {
      const { items } = await server.client.list(runModel);
      return ['good', 'torn', 'lent'].every((name) => items.some(({ object }) => object.name === name));
    });
  });

  after(() => server.stop());

  function run(...args: readonly string[]): Promise<Finished> {
    return runCommand([...args, '--server', server.url]);
  }

  it('`why` says in sentences what fails, and what blocks the removal of a deleted object [spec experience-why]', async () => {
    const torn = await run('why', 'book', 'torn');
    expect(torn.code, torn.stderr).to.equal(0);
    expect(torn.stdout).to.match(
      /^Book torn \(library\.example\.com\/v1\), generation 1\n\nFailing: test\/book fails to reconcile Book torn for /,
    );
    expect(torn.stdout).to.match(/\nLast runs\n {2}\d+s ago {2}error /);
    const lent = await run('why', 'book/lent');
    expect(lent.stdout).to.contain('\nDeleting: Book lent was deleted ');
    expect(lent.stdout).to.match(
      /\n {2}library\.example\.com\/book: {2}the cleanup by test\/book has failed .*: it is not back/,
    );
    const json = await run('why', 'book', 'good', '-o', 'json');
    expect(JSON.parse(json.stdout)).to.include({ kind: 'Explanation', state: 'Reconciled' });
  });

  it('`why` exits with 2 for wrong arguments, and with 1 for an object that does not exist [spec experience-why]', async () => {
    expect(await run('why', 'book', 'absent')).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: 'Error from server (NotFound): books.library.example.com "absent" not found\n',
    });
    const two = await run('why', 'book');
    expect([two.code, two.stderr]).to.deep.equal([2, 'error: exactly one object is needed: TYPE NAME or TYPE/NAME\n']);
    const format = await run('why', 'book', 'good', '-o', 'yaml');
    expect([format.code, format.stderr]).to.deep.equal([2, 'error: -o: must be text or json, not "yaml"\n']);
  });

  it('`runs` prints the runs of a controller or of one object, without control characters [spec experience-runs]', async () => {
    const { code, stdout, stderr } = await run('runs', 'book', 'torn', '--result', 'error', '--limit', '2');
    expect(code, stderr).to.equal(0);
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head).to.match(/^TIME +OBJECT +RESULT +ATTEMPT +WAIT +DURATION +WRITES +TRIGGER +ERROR$/);
    expect(rows).to.have.length(2);
    for (const row of rows)
      expect(row).to.match(/^\d{4}-\d\d-\d\d [\d:.]{12} +torn +error +\d+ .* a page\?\[31m is missing$/);
    const lines = (await run('runs', 'test/book', '-o', 'json')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { readonly kind: string }).kind)).to.include('Run');
    const none = await run('runs', 'book', 'nobody');
    expect(none).to.deep.equal({ code: 0, stdout: '', stderr: 'No runs found.\n' });
  });

  it('`runs -f` prints new runs until it is stopped [spec experience-runs]', async () => {
    const written: string[] = [];
    const { write } = process.stdout;
    process.stdout.write = (piece: unknown, ...rest: readonly unknown[]) => {
      written.push(String(piece));
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    };
    const { runCli } = await import('../../cli.ts');
    try {
      const exit = (): never => expect.fail('the process must not end');
      const following = runCli(['runs', 'book', '-f', '--server', server.url], { environment: {}, exit });
      await eventually(() => written.length > 0);
      await server.client.create(Book, { metadata: { name: 'late' }, spec: {} });
      await eventually(() => written.some((text) => text.includes(' late ')));
      process.emit('SIGINT');
      expect(await following).to.equal(130);
    } finally {
      process.stdout.write = write;
    }
  });

  it('`runs` lists the possible results when it refuses an unknown result [spec experience-runs]', async () => {
    const { code, stderr } = await run('runs', 'test/book', '--result', 'nonsense');
    expect(code).to.equal(2);
    expect(stderr).to.match(/^error: --result: must be one of success, .*, not "nonsense"\n$/);
  });

  it('`runs` and `queue` refuse an unknown controller, and name a similar one, or else the existing controllers', async () => {
    expect((await run('runs', 'bok')).stderr).to.equal('error: there is no controller "bok"; did you mean "book"?\n');
    expect((await run('queue', 'persons')).stderr).to.equal(
      'error: there is no controller "persons"; the controllers are test/book\n',
    );
    expect((await run('runs')).code).to.equal(2);
    expect((await run('runs', 'book', '--limit', '0')).stderr).to.equal(
      'error: --limit: must be a number from 1 to 1000, not "0"\n',
    );
  });

  it('`queue` and `top` show counts, and the keys that fail [spec experience-queue]', async () => {
    const all = await run('queue');
    expect(all.stdout).to.match(/^CONTROLLER +KIND +READY .*\ntest\/book +Book +/);
    expect(all.stdout.trimEnd().split('\n')).to.have.length(2);
    const one = await run('queue', 'book');
    expect(one.stdout).to.match(/\nKEY +STATE +ATTEMPTS +FAILING FOR +NEXT +LAST ERROR\n/);
    expect(one.stdout).to.match(/\nlent +\w+ +\d+ +\d+s .* it is not back\n/);
    const top = await run('top');
    expect(top.code).to.equal(0);
    expect(top.stdout).to.match(/^homeostat top, \d\d:\d\d:\d\d UTC, 1 controller\n/);
    expect(top.stdout).to.contain('it is not back');
  });

  it('`top` fits into the terminal, and shows controllers with failing keys first [spec experience-queue]', async () => {
    const { items } = await server.client.list(controllerModel);
    const [book] = items;
    const calm = { ...book!, spec: { ...book!.spec, controller: 'a/calm' } };
    const quiet = {
      ...calm,
      status: { ...calm.status!, keys: [], queue: { ...calm.status!.queue, failing: 0, parked: 0 } },
    };
    const lines = topScreen([quiet, book!], { nowMs: Date.now(), rows: 6, columns: 40 }).split('\n');
    expect(lines).to.have.length(5);
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(40);
    expect(lines[3]).to.match(/^test\/book/);
    expect(lines[4]).to.match(/^a\/calm/);
  });
});
