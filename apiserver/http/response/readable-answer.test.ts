import { request } from 'node:http';
import { defineModel, silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { startApiServer } from '../../server/api-server.ts';
import type { ApiServer } from '../../server/api-server.ts';

const Note = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { text: { type: 'string' } } } } },
});
const notes = '/apis/notes.example.com/v1/notes';

interface Item {
  readonly metadata: Record<string, unknown>;
}

interface List {
  readonly items: readonly Item[];
}

describe('JSON responses', () => {
  let server: ApiServer;

  before(async () => {
    server = await startApiServer({ database: 'memory:', port: 0, logger: silentLogger });
    server.schemeManager.register(Note);
    await server.client.create(Note, { metadata: { name: 'a' }, spec: { text: 'x' } });
    await server.client.create(Note, { metadata: { name: 'big' }, spec: { text: 'x"'.repeat(100_000) } });
    // Together, these objects are larger than a list that is sent as a whole.
    for (const name of ['c', 'd', 'e', 'f'])
      await server.client.create(Note, { metadata: { name }, spec: { text: name.repeat(300_000) } });
  });
  after(() => server.stop());

  function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<{ code: number; text: string }> {
    return new Promise((resolve, reject) => {
      request(`${server.url}${path}`, { headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece) => (text += String(piece)));
        response.on('end', () => resolve({ code: response.statusCode ?? 0, text }));
      })
        .on('error', reject)
        .end();
    });
  }

  const curl = { 'User-Agent': 'curl/8.5.0' };
  const isIndented = (text: string): boolean => text.startsWith('{\n  "') && text.endsWith('}\n');
  const hasManagedFields = (text: string): boolean => text.includes('"managedFields":');

  it('are not indented, and contain managedFields, for kubectl', async () => {
    for (const path of [`${notes}/a`, notes]) {
      const { text } = await get(path, { 'User-Agent': 'kubectl/v1.32.0' });
      expect([isIndented(text), hasManagedFields(text)]).to.deep.equal([false, true]);
      expect(text).to.equal(JSON.stringify(JSON.parse(text)));
    }
  });

  it('are indented, without managedFields, for curl, Wget and a browser that opens the URL', async () => {
    for (const headers of [curl, { 'User-Agent': 'Wget/1.21' }, { Accept: 'text/html,*/*;q=0.8' }])
      for (const path of [`${notes}/a`, `${notes}?limit=1`]) {
        const { text } = await get(path, headers);
        expect([isIndented(text), hasManagedFields(text)], JSON.stringify(headers)).to.deep.equal([true, false]);
      }
  });

  it('follow the parameters pretty and managedFields for every client [spec experience-readable]', async () => {
    const shape = async (query: string, headers = {}): Promise<readonly boolean[]> => {
      const { text } = await get(`${notes}/a?${query}`, headers);
      return [isIndented(text), hasManagedFields(text)];
    };
    expect(await shape('pretty=true')).to.deep.equal([true, true]);
    expect(await shape('managedFields=false')).to.deep.equal([false, false]);
    expect(await shape('pretty=false&managedFields=true', curl)).to.deep.equal([false, true]);
    expect((await get(`${notes}/a?pretty=maybe`)).code).to.equal(422);
  });

  it('have the same content as the stored object, except for managedFields', async () => {
    const stored = JSON.parse((await get(`${notes}/a`)).text) as { metadata: Record<string, unknown> };
    delete stored.metadata['managedFields'];
    expect(JSON.parse((await get(`${notes}/a`, curl)).text)).to.deep.equal(stored);
  });

  it('are indented even when they are long: an object, and lists that are produced while the client reads them', async () => {
    for (const path of [`${notes}/big`, `${notes}?limit=2`, notes]) {
      const { text } = await get(path, curl);
      expect([isIndented(text), hasManagedFields(text)], path).to.deep.equal([true, false]);
      const stored = JSON.parse((await get(path)).text) as Partial<List> & Item;
      for (const { metadata } of stored.items ?? [stored]) delete metadata['managedFields'];
      expect(text).to.equal(`${JSON.stringify(stored, undefined, 2)}\n`);
    }
  });

  it('are compressed when the client accepts gzip', async () => {
    const response = await fetch(`${server.url}${notes}`, { headers: { ...curl, 'Accept-Encoding': 'gzip' } });
    expect(response.headers.get('content-encoding')).to.equal('gzip');
    expect(isIndented(await response.text())).to.equal(true);
  });
});
