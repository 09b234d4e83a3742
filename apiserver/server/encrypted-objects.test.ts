import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../store/sqlite/sqlite-binding.ts';
import { startApiServer } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

const secrets = '/api/v1/namespaces/default/secrets';

function keyFile(name: string, fill: string): string {
  const keys = [{ name, secret: Buffer.alloc(32, fill).toString('base64') }];
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers: [{ aesgcm: { keys } }] }],
  });
}

describe('an encrypted object that cannot be decrypted', () => {
  let folder: string;
  let server: ApiServer;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
    await start('right');
    for (const name of ['changed', 'cut', 'header', 'moved', 'right', 'swapped']) {
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { of: name } };
      const { status } = await fetch(server.url + secrets, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
      expect(status).to.equal(201);
    }
  });

  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(fill: string): Promise<void> {
    const encryptionConfig = join(folder, 'keys.yaml');
    await writeFile(encryptionConfig, keyFile('one', fill), { mode: 0o600 });
    server = await startApiServer({ database: `sqlite:${join(folder, 'test.db')}`, port: 0, encryptionConfig });
  }

  async function answerOf(name: string): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await fetch(`${server.url}${secrets}/${name}`);
    return { status: answer.status, text: await answer.text() };
  }

  /** Stops the server, and changes the stored bytes of objects. */
  async function tamper(
    change: (bytesOf: (name: string) => Buffer, write: (name: string, data: Uint8Array) => void) => void,
  ): Promise<void> {
    await server.stop();
    const database = await openDatabase(join(folder, 'test.db'));
    const key = (name: string): string => `/registry//secrets/default/${name}`;
    change(
      (name) => {
        const row = database.prepare('SELECT data FROM history WHERE key = ? ORDER BY revision DESC').get(key(name));
        return Buffer.from((row as { readonly data: Uint8Array }).data);
      },
      (name, data) => database.prepare('UPDATE history SET data = ? WHERE key = ?').run(data, key(name)),
    );
    database.close();
  }

  it('causes a 500 that names the key, and all other objects are served', async () => {
    await tamper((bytesOf, write) => {
      const changed = bytesOf('changed');
      changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
      write('changed', changed);
      write('cut', bytesOf('cut').subarray(0, 30));
      write('header', Buffer.from('k8s:enc:aescbc:v1:one:planted'));
      write('moved', bytesOf('swapped'));
    });
    await start('right');
    for (const name of ['changed', 'cut', 'moved']) {
      const { status, text } = await answerOf(name);
      expect(status).to.equal(500);
      expect(text).to.include(
        `secrets \\"${name}\\" cannot be read: the stored bytes cannot be decrypted with key \\"one\\": the key has another secret, or the bytes were changed or moved`,
      );
    }
    const header = await answerOf('header');
    expect(header.status).to.equal(500);
    expect(header.text)
      .to.include('the stored bytes are encrypted by a provider that this server does not know')
      .and.not.include('planted');
    for (const name of ['right', 'swapped'])
      expect((await answerOf(name)).text).to.include(Buffer.from(name).toString('base64'));
  });

  it('is served again with the right key, after a start with another key of the same name [slow]', async () => {
    await server.stop();
    await start('wrong');
    const { status, text } = await answerOf('right');
    expect(status).to.equal(500);
    expect(text).to.include('the stored bytes cannot be decrypted with key \\"one\\"');
    await server.stop();
    await start('right');
    expect((await answerOf('right')).status).to.equal(200);
  });

  it('can be deleted [slow]', async () => {
    await tamper((bytesOf, write) => write('cut', bytesOf('cut').subarray(0, 30)));
    await start('right');
    const { status } = await fetch(`${server.url}${secrets}/cut`, { method: 'DELETE' });
    expect(status).to.equal(200);
    expect((await answerOf('cut')).status).to.equal(404);
  });
});
