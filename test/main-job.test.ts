import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { end, serve } from './support/commands/serve-command.ts';
import type { Served } from './support/commands/serve-command.ts';

const persons = '/apis/people.example.com/v1alpha1/persons';

interface PersonJson {
  readonly metadata: { readonly version: number; readonly uid: string; readonly finalizers?: readonly string[] };
  readonly status?: { readonly greeting?: string };
}

async function call<T>(url: string, init: RequestInit = {}): Promise<{ status: number; body: T }> {
  const response = await fetch(url, { headers: { 'Content-Type': 'application/json' }, ...init });
  return { status: response.status, body: (await response.json()) as T };
}

describe('homeostat serve with a plugin [slow]', () => {
  let directory = '';
  let served: Served | undefined;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'homeostat-main-'));
  });

  after(async () => {
    if (served?.child.exitCode === null && served.child.signalCode === null) await end(served.child, 'SIGKILL');
    await rm(directory, { recursive: true });
  });

  it('reconciles new objects, keeps them after SIGKILL, and cleans up deleted objects [spec 1-serves, 1-desired-and-actual, 4.1-controllers]', async () => {
    const options = ['--plugin', 'examples/01-person', '--database', `sqlite:${join(directory, 'main.db')}`];
    served = await serve(...options);
    const grace = {
      apiVersion: 'people.example.com/v1alpha1',
      kind: 'Person',
      metadata: { name: 'hopper' },
      spec: { name: 'Grace' },
    };
    const created = await call<PersonJson>(served.url + persons, { method: 'POST', body: JSON.stringify(grace) });
    expect(created.status).to.equal(201);
    const hopper = (): string => `${served?.url}${persons}/hopper`;
    const greeted = await eventually(async () => {
      const { body } = await call<PersonJson>(hopper());
      return body.status?.greeting === 'Hello Grace' && body;
    });
    expect(greeted.metadata.finalizers).to.have.length(1);

    await end(served.child, 'SIGKILL');
    served = await serve(...options);
    const kept = await call<PersonJson>(hopper());
    expect(kept.body).to.deep.equal(greeted);

    const changed = { ...grace, spec: { name: 'Grace Hopper' } };
    await call(hopper(), { method: 'PUT', body: JSON.stringify({ ...changed, metadata: kept.body.metadata }) });
    await eventually(async () => (await call<PersonJson>(hopper())).body.status?.greeting === 'Hello Grace Hopper');
    expect((await call(hopper(), { method: 'DELETE' })).status).to.equal(200);
    await eventually(async () => (await call(hopper())).status === 404);
    const { log } = served;
    await eventually(() => log.join('\n').includes('Goodbye Grace Hopper'));
    expect(await end(served.child, 'SIGTERM')).to.equal(0);
  });
});
