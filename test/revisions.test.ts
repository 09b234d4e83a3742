import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startTestServer } from 'homeostat/testing';
import { end, serve } from './support/commands/serve-command.ts';
import type { Served } from './support/commands/serve-command.ts';

const folders = ['01-person', '05-person-2.9'] as const;
const current = '/apis/people.example.com/v1alpha1/persons';
const older = '/apis/contacts.example.com/v1alpha1/persons';

// oxlint-disable-next-line typescript/no-explicit-any -- JSON of a response; tests read every part of it
type Json = any;

async function get(url: string): Promise<Json> {
  return (await fetch(url)).json();
}

async function post(url: string, body: object): Promise<{ status: number; body: Json }> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  });
  return { status: response.status, body: await response.json() };
}

/**
 * Checks two plugins, one written for the current revision of the specification and one for revision 2.9: the persons
 * of both exist and are reconciled, and the server checks each person by the rules of its plugin's revision.
 */
async function expectBoth(url: string): Promise<void> {
  const listed = async (path: string): Promise<Json[]> => (await get(`${url}${path}?sort=metadata.name,asc`)).items;
  const [ada, grace] = await eventually(async () => {
    const items = await listed(current);
    return items.length === 2 && items.every(({ status }) => status?.phase === 'Greeted') && items;
  });
  expect(ada.spec.name).to.equal('Ada Lovelace');
  expect(grace.spec.otherPerson.spec.name).to.equal('Ada Lovelace');
  const [oldAda, charles] = await eventually(async () => {
    const items = await listed(older);
    return items.length === 2 && items.every(({ status }) => status?.observedGeneration === 1) && items;
  });
  expect(oldAda).to.include({ apiVersion: 'contacts.example.com/v1alpha1', name: 'Ada Lovelace' });
  expect(oldAda).not.to.have.any.keys('groupVersion', 'spec');
  expect(charles.otherPerson.otherPerson).to.deep.equal({ name: 'Mary Somerville' });

  const deep = { spec: { otherPerson: { spec: { otherPerson: { spec: { age: 151 } } } } } };
  const person = { kind: 'Person', metadata: { name: 'x' } };
  const refused = await post(url + current, { ...person, apiVersion: 'people.example.com/v1alpha1', ...deep });
  expect(refused.status).to.equal(422);
  expect(refused.body.details.causes[0].field).to.equal('spec.otherPerson.spec.otherPerson.spec.age');
  const flat = { ...person, apiVersion: 'contacts.example.com/v1alpha1' };
  const refusedFlat = await post(url + older, { ...flat, otherPerson: { otherPerson: { age: 151 } } });
  expect(refusedFlat.status).to.equal(422);
  expect(refusedFlat.body.details.causes[0].field).to.equal('otherPerson.otherPerson.age');
  const { apiVersion: groupVersion, ...versionless } = flat;
  const byGroupVersion = await post(url + older, { ...versionless, groupVersion });
  expect(byGroupVersion.status).to.equal(400);
  expect(byGroupVersion.body.message).to.include('apiVersion');
}

describe('plugins of revision 2.15 and 2.9', () => {
  it('run together in one host', async () => {
    const root = fileURLToPath(new URL('../../examples/', import.meta.url));
    const server = await startTestServer({ plugins: folders.map((folder) => join(root, folder)) });
    try {
      await server.settle();
      await expectBoth(server.url);
    } finally {
      await server.stop();
    }
  });

  it('run together in `homeostat serve`, and leave existing objects unchanged when the server restarts [slow]', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'homeostat-revisions-'));
    const plugins = folders.flatMap((folder) => ['--plugin', `examples/${folder}`]);
    const options = [...plugins, '--database', `sqlite:${join(directory, 'both.db')}`];
    let served: Served | undefined;
    try {
      served = await serve(...options);
      await expectBoth(served.url);
      const before = await get(`${served.url}${older}/charles`);
      expect(await end(served.child, 'SIGTERM')).to.equal(0);
      served = await serve(...options);
      expect(await get(`${served.url}${older}/charles`)).to.deep.equal(before);
      await expectBoth(served.url);
    } finally {
      if (served?.child.exitCode === null) await end(served.child, 'SIGKILL');
      await rm(directory, { recursive: true });
    }
  });
});
