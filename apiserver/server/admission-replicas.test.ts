import { defineModel, reasonOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import type { UpdateAdmission } from '../admission/admission.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';

interface Note extends ApiObject {
  readonly spec: { readonly text: string; readonly copies: readonly string[] };
}

const note = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  schema: { type: 'object', additionalProperties: true },
}) as unknown as ModelDescriptor<Note>;

describe('admission hooks, when several servers write', () => {
  let database: SharedDatabase;
  let servers: ApiServer[];

  beforeEach(async () => {
    database = new SharedDatabase();
    servers = [];
    for (let index = 0; index < 2; index += 1) {
      const server = await startOn(database.replica(), { port: 0 });
      servers.push(server);
      server.schemeManager.forOwner('notes').register(note);
      await server.whenReady(note);
    }
  });

  afterEach(async () => {
    await Promise.all(servers.map(async (server) => server.stop()));
    await database.close();
  });

  it('are called again when another server has changed the object meanwhile, and do not overwrite that change', async () => {
    const [here, there] = servers as [ApiServer, ApiServer];
    await here.client.create(note, { metadata: { name: 'a' }, spec: { text: 'first', copies: [] } });
    const seen: string[] = [];
    const onUpdate = async ({ object, old }: UpdateAdmission<Note>): Promise<void> => {
      seen.push(old.spec.text);
      if (seen.length === 1)
        await there.client.patch(note, 'a', { type: 'merge', patch: { spec: { text: 'second' } } });
      object.spec.copies = [...old.spec.copies, old.spec.text];
    };
    const owned = here.admissions.forOwner('notes', { client: here.client });
    owned.add({ model: note, hooks: { onUpdate } });
    const patch = { metadata: { labels: { 'notes.example.com/new': 'yes' } } };
    const stored = await here.client.patch(note, 'a', { type: 'merge', patch });
    expect(seen).to.deep.equal(['first', 'second']);
    expect(stored.spec).to.deep.equal({ text: 'second', copies: ['second'] });
  });

  it('are not called again when they do not respond in time: the write fails with Timeout', async () => {
    const [here] = servers as [ApiServer, ApiServer];
    await here.client.create(note, { metadata: { name: 'a' }, spec: { text: 'first', copies: [] } });
    let asked = 0;
    const onUpdate = async (): Promise<never> => {
      asked += 1;
      return new Promise<never>(() => undefined);
    };
    const owned = here.admissions.forOwner('notes', { client: here.client });
    owned.add({ model: note, hooks: { onUpdate }, timeoutMs: 1 });
    const refusal = await here.client
      .patch(note, 'a', { type: 'merge', patch: { spec: { text: 'x' } } })
      .catch(reasonOf);
    expect([refusal, asked]).to.deep.equal(['Timeout', 1]);
  });
});
