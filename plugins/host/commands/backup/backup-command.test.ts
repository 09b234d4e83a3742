import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { widgetModel } from '../../widget.fixture.ts';
import { runBackup } from './backup-command.ts';
import { Captured, runCommand } from '../run-command.fixture.ts';

const Widget = widgetModel();
const hourMs = 3_600_000;

describe('homeostat backup [spec experience-backup]', () => {
  let folder: string;
  let server: ApiServer;
  const path = (name: string): string => join(folder, name);

  async function serve(database: string): Promise<ApiServer> {
    const started = await startApiServer({ database, port: 0, logger: silentLogger });
    started.schemeManager.register(Widget);
    await started.whenReady(Widget);
    return started;
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-backup-'));
    server = await serve(`sqlite:${path('data/homeostat.db')}`);
    await server.client.create(Widget, { metadata: { name: 'first' }, spec: { size: 1 } });
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  it('writes a database that only its owner can read, and overwrites it only with --force', async () => {
    const [file, args] = [path('one.db'), ['backup', '--server', server.url, '--to', path('one.db')]];
    const done = await runCommand(args);
    const { size, mode } = await stat(file);
    expect(done).to.deep.equal({ code: 0, stdout: '', stderr: `backed up to ${file}, ${size} bytes\n` });
    expect(mode & 0o777).to.equal(0o600);
    // The backup has encrypted objects, but not the encryption key.
    await copyFile(path('data/encryption.key'), path('encryption.key'));
    const restored = await serve(`sqlite:${file}`);
    const { items } = await restored.client.list(Widget);
    await restored.stop();
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['first']);
    expect(await runCommand(args)).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: `homeostat backup failed: ${file} exists already; --force overwrites it\n`,
    });
    expect((await runCommand([...args, '--force'])).code).to.equal(0);
    expect(await readdir(path('data'))).to.not.include('homeostat.db-backup');
  });

  it('makes a backup every hour, keeps the newest ones, and does not change other files', async () => {
    await mkdir(path('hourly'));
    const partial = '.11111111-2222-3333-4444-555555555555.partial';
    const others = ['h-20290101T000000Z.db.txt', 'h-old.db', `h-20310101T000000Z.db${partial}`];
    const removed = ['h-20290101T000000Z.db', `h-20291231T230000Z.db${partial}`];
    for (const name of [...others, ...removed]) await writeFile(path(`hourly/${name}`), '');
    const clock = new FakeClock();
    const backups = async (): Promise<readonly string[]> =>
      (await readdir(path('hourly'))).filter((name) => !others.includes(name)).sort();
    const flags = { server: server.url, to: path('hourly/h.db'), every: '1h', keep: '2' };
    const stderr = new Captured(process.stderr);
    try {
      const running = runBackup({ flags, environment: {} }, clock);
      for (let hour = 1; hour <= 4; hour += 1) {
        await eventually(() => clock.pendingTimers === 1);
        expect(stderr.text.match(/backed up/g)).to.have.length(hour);
        await clock.advance(hour < 4 ? hourMs : hourMs - 1);
      }
      expect(await backups()).to.deep.equal(['h-20300101T020000Z.db', 'h-20300101T030000Z.db']);
      process.emit('SIGTERM');
      expect(await running).to.equal(0);
    } finally {
      stderr.release();
    }
    expect((await readdir(path('hourly'))).sort()).to.include.members(others);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('reports a later backup that fails, and tries again after a minute', async () => {
    await mkdir(path('again'));
    const clock = new FakeClock();
    const flags = { server: server.url, to: path('again/h.db'), every: '1h' };
    const stderr = new Captured(process.stderr);
    try {
      const running = runBackup({ flags, environment: {} }, clock);
      await eventually(() => clock.pendingTimers === 1);
      await writeFile(path('again/h-20300101T010000Z.db'), 'in the way');
      await clock.advance(hourMs);
      await eventually(() => stderr.text.includes('no backup, next try in 60 s: '));
      await eventually(() => clock.pendingTimers === 1);
      await clock.advance(60_000);
      await eventually(() => clock.pendingTimers === 1);
      process.emit('SIGTERM');
      expect(await running).to.equal(0);
    } finally {
      stderr.release();
    }
    expect((await readdir(path('again'))).sort()).to.deep.equal([
      'h-20300101T000000Z.db',
      'h-20300101T010000Z.db',
      'h-20300101T010100Z.db',
    ]);
    expect(await readFile(path('again/h-20300101T010000Z.db'), 'utf8')).to.equal('in the way');
  });

  it('refuses a database that is not a SQLite file, and names other tools for a backup', async () => {
    const other = await serve('memory:');
    const done = await runCommand(['backup', '--server', other.url, '--to', path('other.db'), '--every', '1h']);
    await other.stop();
    expect(done.code).to.equal(1);
    expect(done.stderr).to.include(
      'for this database, use pg_dump, mysqldump, etcdctl snapshot save, or homeostat export',
    );
    expect(await readdir(folder)).to.not.include('other.db');
  });

  it('refuses the HTML page of a server that is not a Homeostat server', async () => {
    const other = createServer((_request, response) =>
      response.setHeader('Content-Type', 'text/html').end('<p>Log in</p>'),
    );
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const done = await runCommand(['backup', '--server', url, '--to', path('page.db')]);
    await new Promise((resolve) => void other.close(resolve));
    expect(done.code).to.equal(1);
    expect(done.stderr).to.include('is not a Homeostat server: it returned text/html');
    expect(await readdir(folder)).to.not.include('page.db');
  });

  for (const [args, problem] of [
    [[], '--to is needed: the file to write, such as backups/homeostat.db'],
    [['--to', 'x', '--every', '10s'], '--every: must be a time from 1m to 7d, such as 30m, 1h or 1d, not "10s"'],
    [['--to', 'x', '--every', '8d'], 'not "8d"'],
    [['--to', 'x', '--keep', '0'], '--keep: must be a whole number from 1 to 10000, not "0"'],
    [['--to', 'x', '--keep', '2', '--force'], '--force: is for a single backup'],
  ] as const)
    it(`exits with 2 for: ${args.join(' ')}`, async () => {
      const { code, stderr } = await runCommand(['backup', ...args]);
      expect([code, stderr.includes(problem)], stderr).to.deep.equal([2, true]);
    });
});
