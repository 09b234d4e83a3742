import { controller } from '@homeostat/controller-runtime';
import {
  controllerModel,
  defineModel,
  pausedAnnotation,
  reconcileAnnotation,
  runModel,
  silentLogger,
} from '@homeostat/controller-runtime/api';
import type { ApiObject, ControllerObject, ModelDescriptor, Run } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';

const text = { type: 'string' } as const;
const Person = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  subresources: ['status'],
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { name: text } },
      status: { type: 'object', properties: { greeting: text } },
    },
    required: ['spec'],
  } as const,
});
const Secret = defineModel({
  gvk: 'v1/Secret',
  plural: 'secrets',
  scope: 'Namespaced',
  schema: { type: 'object', properties: { stringData: { type: 'object', additionalProperties: text } } } as const,
}) as ModelDescriptor<ApiObject & { readonly stringData?: Readonly<Record<string, string>> }>;

function refuse(name: string): never {
  throw new Error(`no luck with ${name}`);
}

const persons = controller(Person, {
  async reconcile({ object, status, client }) {
    const { name = '' } = object.spec;
    if (name === 'bad') refuse(name);
    if (name === 'secretive') {
      await client.ensure(Secret, { namespace: 'default', name: 'of-ada' }, { stringData: { password: 'hunter2' } });
    }
    await status({ greeting: `Hello ${name}` });
  },
});

describe('the records of runs', () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer({
      models: [Person],
      controllers: [persons],
      logger: silentLogger,
      reportRuns: true,
    });
  });

  after(() => server.stop());

  async function runsOf(name: string, more = ''): Promise<readonly Run[]> {
    const fieldSelector = `object.name=${name}${more}`;
    return (await server.client.list(runModel, { fieldSelector, sort: 'startTime,asc' })).items;
  }

  async function firstRun(name: string, select: (run: Run) => boolean): Promise<Run> {
    let found: Run | undefined;
    await eventually(async () => (found = (await runsOf(name)).find(select)) !== undefined);
    return found as Run;
  }

  async function stateOf(): Promise<NonNullable<ControllerObject['status']>> {
    return (await server.client.get(controllerModel, 'test.person')).status!;
  }

  function annotate(name: string, annotations: Readonly<Record<string, string | null>>): Promise<unknown> {
    const patch = { metadata: { annotations } };
    return server.httpClient.patch(Person, name, { type: 'merge', patch }, { fieldManager: 'operator' });
  }

  it('show the trigger of a run, the writer of the trigger, and the changes of the run', async () => {
    await server.httpClient.create(
      Person,
      { metadata: { name: 'ada' }, spec: { name: 'Ada' } },
      { fieldManager: 'author' },
    );
    const created = await firstRun('ada', ({ result }) => result === 'success');
    const { resourceVersion } = created.object;
    expect(created).to.include({ controller: 'test/person', attempt: 1 });
    expect(created.triggers).to.deep.equal([{ type: 'event', detail: 'ADDED', resourceVersion, manager: 'author' }]);
    const patch = { spec: { name: 'Bea' } };
    const changed = await server.httpClient.patch(Person, 'ada', { type: 'merge', patch }, { fieldManager: 'editor' });
    const second = await firstRun('ada', ({ object }) => object.generation === 2);
    expect(second.triggers).to.deep.equal([
      {
        type: 'event',
        detail: 'MODIFIED',
        resourceVersion: changed.metadata.resourceVersion,
        manager: 'editor',
      },
    ]);
    const { metadata } = await server.client.get(Person, 'ada');
    expect(second.writes).to.deep.equal([
      {
        verb: 'patch',
        subresource: 'status',
        object: { apiVersion: 'people.example.com/v1alpha1', kind: 'Person', name: 'ada', uid: metadata.uid },
        resourceVersion: metadata.resourceVersion,
        changed: true,
        changes: [{ path: 'status.greeting', from: 'Hello Ada', to: 'Hello Bea' }],
      },
    ]);
    expect(second.waitMs).to.be.at.least(0);
    expect(second.durationMs).to.be.above(0);
  });

  it('show the error with only the stack frames of the plugin, and the time of the next attempt', async () => {
    await server.client.create(Person, { metadata: { name: 'bad' }, spec: { name: 'bad' } });
    const run = await firstRun('bad', ({ attempt }) => attempt === 3);
    expect(run.result).to.equal('error');
    expect(run.error?.message).to.equal('no luck with bad');
    const frames = run.error?.stack?.split('\n') ?? [];
    expect(frames).to.have.length(2);
    for (const frame of frames) expect(frame).to.contain('records.test');
    expect(Date.parse(run.nextTime ?? '')).to.be.above(Date.parse(run.startTime));
    await eventually(async () => (await stateOf()).queue.failing === 1);
    const { keys, running } = await stateOf();
    expect(running).to.equal(true);
    expect(keys[0]).to.include({ key: 'bad', lastError: 'no luck with bad' });
    expect(await runsOf('bad', ',result=success')).to.deep.equal([]);
  });

  it('never show a value of a Secret', async () => {
    await server.client.create(Person, { metadata: { name: 'cleo' }, spec: { name: 'secretive' } });
    const run = await firstRun('cleo', ({ result }) => result === 'success');
    expect(run.writes?.map(({ object }) => object.kind)).to.deep.equal(['Secret', 'Person']);
    expect(JSON.stringify(run)).not.to.match(/hunter2|aHVudGVyMg/);
  });

  it('show requests to pause, to resume and to run; a change of a paused object causes no run [slow]', async () => {
    await server.client.create(Person, { metadata: { name: 'dora' }, spec: { name: 'Dora' } });
    await firstRun('dora', ({ result }) => result === 'success');
    await annotate('dora', { [pausedAnnotation]: 'true' });
    const paused = await firstRun('dora', ({ result }) => result === 'paused');
    expect(paused.triggers[0]).to.include({ type: 'manual', detail: 'paused', manager: 'operator' });
    await server.client.patch(Person, 'dora', { type: 'merge', patch: { spec: { name: 'Eve' } } });
    await eventually(async () => (await stateOf()).queue.paused === 1);
    await server.settle();
    expect((await server.client.get(Person, 'dora')).status?.greeting).to.equal('Hello Dora');
    await annotate('dora', { [pausedAnnotation]: null });
    const resumed = await firstRun('dora', ({ triggers }) => triggers.some(({ detail }) => detail === 'resumed'));
    expect(resumed.result).to.equal('success');
    expect((await server.client.get(Person, 'dora')).status?.greeting).to.equal('Hello Eve');
    await annotate('dora', { [reconcileAnnotation]: 'now' });
    await firstRun('dora', ({ triggers }) => triggers.some(({ detail }) => detail === 'requested'));
    await eventually(async () => (await stateOf()).queue.paused === 0);
  });

  it('stay after the plugin is disabled; its controller is then shown as not running', async () => {
    await server.client.patch(
      defineModel({
        gvk: 'plugin.homeostat.internal/v1alpha1/Plugin',
        plural: 'plugins',
        schema: { type: 'object', properties: {} },
      }),
      'test',
      { type: 'merge', patch: { spec: { enabled: false } } },
    );
    await eventually(async () => !(await stateOf()).running);
    expect(
      (await server.client.list(runModel, { fieldSelector: 'controller=test/person', limit: 1 })).items,
    ).to.have.length(1);
  });
});
