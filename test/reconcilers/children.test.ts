import { controller, on } from 'homeostat';
import type { FromModel, ReconcileContext } from 'homeostat';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import { Note, Team, Worker } from './models.ts';

type TeamRun = ReconcileContext<FromModel<typeof Team>>;

for (const transport of transports) {
  describe(`children and related objects of a run, ${transport}`, () => {
    it('children() returns the objects that earlier runs created; a run that changes nothing sends no request', async () => {
      const seen: string[][] = [];
      const teams = controller(Team, {
        owns: [Worker],
        async reconcile({ object, children, ensure }: TeamRun) {
          const names = children(Worker).map(({ metadata }) => metadata.name);
          seen.push(names);
          for (let index = names.length; index < object.spec.size; index += 1) {
            await ensure(Worker, `${object.metadata.name}-${index}`, { spec: { task: 'dig' } });
            // The cache may not have the new worker yet, but the children of the run include it.
            expect(children(Worker)).to.have.length(index + 1);
          }
        },
      });
      const at = await runControllers(transport, { models: [Team, Worker], controllers: [teams] });
      await at.client.create(Team, { metadata: { name: 'red' }, spec: { size: 3 } });
      await at.settle();
      const requests = at.requestsOfRuns();
      await at.client.patch(Team, 'red', { type: 'merge', patch: { metadata: { labels: { again: 'yes' } } } });
      await at.settle();
      await at.stop();
      expect(seen.at(-1)).to.deep.equal(['red-0', 'red-1', 'red-2']);
      expect(at.requestsOfRuns()).to.equal(requests);
    });

    it('children() returns only the objects that the object of the run controls', async () => {
      const seen = new Map<string, number>();
      const teams = controller(Team, {
        owns: [Worker],
        reconcile({ object, children }: TeamRun) {
          seen.set(object.metadata.name, children(Worker).length);
        },
      });
      const at = await runControllers(transport, {
        models: [Team, Worker],
        controllers: [teams],
        before: async (client) => {
          const red = await client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
          await client.create(Team, { metadata: { name: 'blue' }, spec: { size: 1 } });
          const owner = {
            apiVersion: red.apiVersion,
            kind: red.kind,
            name: 'red',
            uid: red.metadata.uid,
            controller: true,
          };
          const task = { spec: { task: 'dig' } };
          await client.create(Worker, { metadata: { name: 'a', ownerReferences: [owner] }, ...task });
          await client.create(Worker, { metadata: { name: 'b' }, ...task });
        },
      });
      await at.settle();
      await at.stop();
      expect(Object.fromEntries(seen)).to.deep.equal({ red: 1, blue: 0 });
    });

    it('are found by an index of their model, with the writes of the same run already applied', async () => {
      const seen: string[][] = [];
      const teams = controller(Team, {
        watches: [on(Worker, () => ['red'], { indexes: ['spec.task'] })],
        async reconcile({ related, client }: TeamRun) {
          const digging = (): string[] => related(Worker, 'spec.task', 'dig').map(({ metadata }) => metadata.name);
          seen.push(digging());
          const [first] = related(Worker, 'spec.task', 'dig');
          if (first !== undefined) await client.update({ ...first, spec: { task: 'rest' } });
          seen.push(digging());
        },
      });
      const at = await runControllers(transport, {
        models: [Team, Worker],
        controllers: [teams],
        before: async (client) => {
          for (const name of ['a', 'b']) await client.create(Worker, { metadata: { name }, spec: { task: 'dig' } });
          await client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
        },
      });
      await at.settle();
      await at.stop();
      expect(seen.slice(0, 3)).to.deep.equal([['a', 'b'], ['b'], ['b']]);
      expect(seen.at(-1)).to.deep.equal([]);
    });
  });
}

describe('children and related objects', () => {
  /** Calls `reconcile` in the runs of a controller of teams, and returns the last error that it throws. */
  const thrown = async (reconcile: (run: TeamRun) => void): Promise<unknown> => {
    let error: unknown;
    const teams = controller(Team, {
      owns: [Worker],
      reconcile(run: TeamRun) {
        try {
          reconcile(run);
        } catch (caught) {
          error = caught;
        }
      },
    });
    const at = await runControllers('in process', { models: [Team, Worker, Note], controllers: [teams] });
    await at.client.create(Team, { metadata: { name: 'red' }, spec: { size: 0 } });
    await at.settle();
    await at.stop();
    return error;
  };

  it('cannot be read when the controller does not own or follow their kind; the error says what to add to the controller', async () => {
    expect(await thrown(({ children }) => void children(Note))).to.have.property(
      'message',
      'controller "team" does not own Note: add Note to its "owns"',
    );
    expect(await thrown(({ related }) => void related(Note, 'spec.text', ''))).to.have.property(
      'message',
      'controller "team" does not follow Note: add Note to "owns", or on(Note, …) to "watches"',
    );
  });

  it('cannot be read by an index that the model does not declare; the error suggests a declared index', async () => {
    expect(await thrown(({ related }) => void related(Worker, 'spec.taks', 'dig'))).to.have.property(
      'message',
      'Worker declares no index "spec.taks": did you mean "spec.task"?',
    );
  });
});
