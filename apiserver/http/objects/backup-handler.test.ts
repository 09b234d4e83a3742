import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { ApiError, silentLogger } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { Context } from 'koa';
import { StoreError } from '../../store/store-error.ts';
import { BackupHandler } from './backup-handler.ts';
import type { BackupHandlerParts } from './backup-handler.ts';

/** Returns a context with the parts that the handler uses. */
function newContext(): Context {
  const context = { res: new PassThrough(), set: () => undefined };
  return context as unknown as Context;
}

describe('BackupHandler', () => {
  let folder: string;
  let failure: Error | undefined;
  let keepOpen: () => void;
  let handler: BackupHandler;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-backups-'));
    failure = undefined;
    keepOpen = () => undefined;
    const backUp = async (): Promise<string> => {
      if (failure !== undefined) throw failure;
      await writeFile(join(folder, 'copy'), 'a copy', { flag: 'wx' });
      return join(folder, 'copy');
    };
    const parts = { stored: { backUp }, logger: silentLogger, permissions: { keepOpen: () => keepOpen() } };
    handler = new BackupHandler(parts as unknown as BackupHandlerParts);
  });

  afterEach(() => rm(folder, { recursive: true }));

  async function refusal(): Promise<unknown> {
    return handler.handle(newContext()).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it('sends one backup at a time, and deletes the copy afterwards', async () => {
    const first = newContext();
    await handler.handle(first);
    expect(first.length).to.equal('a copy'.length);
    expect(await refusal()).to.include({ reason: 'TooManyRequests' });
    (first.body as NodeJS.ReadableStream).resume();
    await eventually(async () => (await readdir(folder)).length === 0);
    await eventually(async () => (await refusal()) === undefined);
  });

  it('deletes the backup file when the client disconnects before the file is complete; the next backup succeeds', async () => {
    const left = newContext();
    left.res.destroy();
    await handler.handle(left);
    await eventually(async () => (await readdir(folder)).length === 0);
    await eventually(async () => (await refusal()) === undefined);
  });

  it('refuses a backup when the user has lost the permission before the copy is made; a later backup succeeds', async () => {
    keepOpen = () => {
      throw new ApiError('Forbidden', 'withdrawn');
    };
    expect(await refusal()).to.include({ reason: 'Forbidden' });
    keepOpen = () => undefined;
    expect(await refusal()).to.equal(undefined);
  });

  it('refuses a backup while another worker sends one', async () => {
    failure = new StoreError('locked', 'a backup is under way');
    expect(await refusal()).to.include({ reason: 'TooManyRequests', retryAfterSeconds: 10 });
    failure = undefined;
    expect(await refusal()).to.equal(undefined);
  });

  it('refuses a backup with InsufficientStorage when the disk is full; a later backup succeeds', async () => {
    failure = new StoreError('full', 'SQLite: database or disk is full');
    expect(await refusal()).to.include({ reason: 'InsufficientStorage' });
    failure = new StoreError('io', 'SQLite: disk I/O error');
    expect(await refusal()).to.include({ reason: 'ServiceUnavailable' });
    failure = undefined;
    expect(await refusal()).to.equal(undefined);
  });
});
