import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';

import { type ApiServer, startApiServer } from './api-server.ts';

const note: ModelDescriptor = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  singular: 'note',
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { text: { type: 'string' } } } },
  },
  indexes: [{ path: 'spec.text', unique: true }],
});
const notes = '/apis/notes.example.com/v1/notes';

interface Note {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

/**
 * Reads the first events of a watch, ends the watch, and returns the types of the events and the names of the objects.
 */
async function watched(url: string, count: number): Promise<string[]> {
  const abort = new AbortController();
  const { body } = await fetch(url, { signal: abort.signal });
  const names: string[] = [];
  let text = '';
  for await (const chunk of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines.filter((each) => each !== '')) {
      const { type, object } = JSON.parse(line) as { type: string; object: Note };
      names.push(`${type} ${object.metadata.name}`);
    }
    if (names.length >= count) break;
  }
  abort.abort();
  return names;
}

/** Adds the tests of a server that restarts. `newDatabase` creates an empty database, and returns its URL. */
export function describeServer(newDatabase: () => Promise<string>): void {
  let database: string;
  let server: ApiServer;

  // When the tests are skipped, no server is running, so there is nothing to stop.
  let stop = async (): Promise<void> => undefined;

  const start = async (): Promise<void> => {
    server = await startApiServer({ database, port: 0 });
    stop = () => server.stop();
    server.schemeManager.register(note);
    await server.whenReady(note);
  };

  const create = async (name: string, text: string): Promise<Response> => {
    const body = { apiVersion: 'notes.example.com/v1', kind: 'Note', metadata: { name }, spec: { text } };
    return fetch(server.url + notes, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  };

  before(async () => {
    database = await newDatabase();
    await start();
  });

  after(() => stop());

  it('keeps objects, unique values and history across a restart, so that a watch can resume', async () => {
    const first = (await (await create('one', 'a')).json()) as Note;
    expect((await create('two', 'b')).status).to.equal(201);
    await server.stop();
    await start();
    const { items } = (await (await fetch(`${server.url}${notes}?sort=metadata.name,asc`)).json()) as { items: Note[] };
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['one', 'two']);
    expect((await create('other', 'a')).status).to.equal(422);
    const events = watched(`${server.url}${notes}?watch=true&resourceVersion=${first.metadata.resourceVersion}`, 2);
    expect((await create('three', 'c')).status).to.equal(201);
    expect(await events).to.deep.equal(['ADDED two', 'ADDED three']);
  });
}
