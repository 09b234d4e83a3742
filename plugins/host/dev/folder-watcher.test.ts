import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';
import { FolderWatcher } from './folder-watcher.ts';
import { watchedFiles } from './watched-files.ts';

describe('FolderWatcher', () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  let folder: string;

  after(removeFolders);

  async function watch(): Promise<FolderWatcher> {
    folder = await makeFolder({ 'a.ts': 'a', 'node_modules/x/index.js': '', 'kinds/b.ts': 'b' });
    const wants = (path: string): boolean => !path.endsWith('node_modules');
    return FolderWatcher.start({ folder, wants, clock });
  }

  /** Returns the watcher's next result; advances time until it arrives. */
  async function answerOf(watcher: FolderWatcher): Promise<readonly string[] | undefined> {
    let answer: { readonly changed: readonly string[] | undefined } | undefined;
    void watcher.next(abort.signal).then((changed) => (answer = { changed }));
    await eventually(async () => {
      await clock.advance(250);
      return answer !== undefined;
    });
    return answer?.changed;
  }

  it('reports changed, added and deleted files by path, each once', async () => {
    const watcher = await watch();
    await writeFile(join(folder, 'a.ts'), 'changed');
    await mkdir(join(folder, 'deep', 'er'), { recursive: true });
    await writeFile(join(folder, 'deep', 'er', 'c.yaml'), '');
    await rm(join(folder, 'kinds', 'b.ts'));
    await writeFile(join(folder, 'node_modules', 'x', 'index.js'), 'changed');
    expect(await answerOf(watcher)).to.deep.equal(['a.ts', 'deep/er/c.yaml', 'kinds/b.ts']);
    await rename(join(folder, 'a.ts'), join(folder, 'd.ts'));
    expect(await answerOf(watcher)).to.deep.equal(['a.ts', 'd.ts']);
  });

  it('waits until the files stop changing', async () => {
    const watcher = await watch();
    let isTold = false;
    const next = watcher.next(abort.signal).then(() => (isTold = true));
    for (let size = 1; size <= 5; size += 1) {
      await eventually(() => clock.pendingTimers === 1);
      await writeFile(join(folder, 'a.ts'), 'x'.repeat(size + 10));
      await clock.advance(250);
    }
    await eventually(() => clock.pendingTimers === 1);
    expect(isTold).to.equal(false);
    await clock.advance(250);
    await next;
  });

  it('stops the wait for changes once its signal aborts, and leaves no timer', async () => {
    const watcher = await watch();
    const ending = new AbortController();
    const next = watcher.next(ending.signal);
    ending.abort();
    expect(await next).to.equal(undefined);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('rejects when the folder is deleted', async () => {
    const watcher = await watch();
    await rm(folder, { recursive: true });
    const next = watcher.next(abort.signal).catch((error: unknown) => String(error));
    await clock.advance(250);
    expect(await next).to.include('ENOENT');
  });
});

describe('watchedFiles', () => {
  for (const [isCompiled, path, isWatched] of [
    [true, 'index.ts', true],
    [true, 'resources/extensions/a.yaml', true],
    [true, 'plugin.yaml', true],
    [true, 'tsconfig.json', true],
    [true, 'index.js', false],
    [true, 'types.d.ts', false],
    [false, 'index.js', true],
    [true, 'data/homeostat.db', false],
    [true, 'dist', false],
    [false, 'dist', true],
    [false, 'node_modules', false],
    [false, '.git', false],
    [true, 'kinds', true],
  ] as const) {
    it(`${isWatched ? 'watches' : 'leaves out'} ${path} of a plugin ${isCompiled ? 'in TypeScript' : 'in JavaScript'}`, () => {
      const wants = watchedFiles({ main: './dist/index.js', isCompiled });
      expect(wants(path, !path.includes('.') || path === '.git')).to.equal(isWatched);
    });
  }
});
