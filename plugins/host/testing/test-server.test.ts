import { expect } from 'chai';
import { controller, definePlugin, isNotFound } from '../index.ts';
import { widgetModel } from '../widget.fixture.ts';
import { eventually, FakeClock, silentLogger, startTestServer } from './index.ts';
import type { TestServerOptions } from './index.ts';

const Widget = widgetModel();
const Part = widgetModel({ kind: 'Part' });

describe('startTestServer', () => {
  it('serves the models, and runs the controllers until they have no work', async () => {
    const server = await startTestServer({
      models: [Widget],
      controllers: [
        controller(Widget, {
          reconcile: async ({ object, status }) => void (await status({ seen: object.metadata.name })),
        }),
      ],
    });
    await server.httpClient.create(Widget, { metadata: { name: 'w' } });
    await server.settle();
    expect((await server.client.get(Widget, 'w')).status).to.deep.equal({ seen: 'w' });
    expect(server.plugins()).to.deep.equal([{ name: 'test', version: '0.0.0', phase: 'Started' }]);
    await server.stop();
  });

  it('collects garbage: deletes the dependents of a deleted object', async () => {
    const server = await startTestServer({
      models: [Widget, Part],
      controllers: [
        controller(Widget, {
          owns: [Part],
          reconcile: async ({ object, ensure }) => void (await ensure(Part, object.metadata.name, {})),
        }),
      ],
    });
    await server.client.create(Widget, { metadata: { name: 'w' } });
    await server.settle();
    expect((await server.client.list(Part)).items).to.have.length(1);
    await server.client.delete(Widget, 'w');
    await server.settle();
    expect(isNotFound(await server.client.get(Part, 'w').catch((error: unknown) => error))).to.equal(true);
    await server.stop();
  });

  it('runs a delayed key when the clock in the options reaches the time of the key', async () => {
    const clock = new FakeClock();
    const runs: number[] = [];
    const server = await startTestServer({
      clock,
      models: [Widget],
      controllers: [
        controller(Widget, {
          reconcile: () => {
            runs.push(clock.monotonicMs());
            return { after: '10m' };
          },
        }),
      ],
    });
    await server.client.create(Widget, { metadata: { name: 'w' } });
    await server.settle();
    expect(runs).to.deep.equal([0]);
    await clock.advance(600_000);
    await server.settle();
    expect(runs).to.deep.equal([0, 600_000]);
    await server.stop();
  });

  it('prints errors of reconcilers to stderr, unless its options have a logger', async () => {
    const failing = controller(Widget, {
      reconcile: () => {
        throw new Error('no widgets today');
      },
    });
    const printed: string[] = [];
    const write = process.stderr.write.bind(process.stderr);
    const run = async (options: TestServerOptions): Promise<void> => {
      const server = await startTestServer({
        clock: new FakeClock(),
        models: [Widget],
        controllers: [failing],
        ...options,
      });
      await server.client.create(Widget, { metadata: { name: 'w' } });
      await server.settle();
      await server.stop();
    };
    process.stderr.write = (text: string | Uint8Array) => printed.push(String(text)) > 0;
    try {
      await run({ logger: silentLogger });
      expect(printed).to.deep.equal([]);
      await run({});
    } finally {
      process.stderr.write = write;
    }
    expect(printed.join('')).to.match(/^error: reconcile failed; trying again .*controller='widget' key='w'/);
    expect(printed.join('')).to.include('Error: no widgets today\n');
  });

  it('rejects with the reason when a plugin cannot start', async () => {
    const failing = definePlugin({
      start: () => {
        throw new Error('no');
      },
    });
    const error: unknown = await startTestServer({ plugins: [failing], logger: silentLogger }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as Error).message).to.equal('plugin "plugin-1" failed: no');
  });

  it('leaves no handles or timers behind after its stop', async () => {
    // Waits for one turn of the event loop before it lists the resources of the process. By then, mocha has set the
    // timer of this test, and `eventually` has removed its own timer, so these timers do not make the lists differ.
    const resources = async (): Promise<string> => {
      await new Promise((resolve) => setImmediate(resolve));
      return process.getActiveResourcesInfo().toSorted().join();
    };
    const before = await resources();
    const server = await startTestServer({ models: [Widget] });
    const { url } = server;
    await server.httpClient.create(Widget, { metadata: { name: 'w' } });
    await server.stop();
    await eventually(async () => expect(await resources()).to.equal(before));
    const refused: unknown = await fetch(url).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(TypeError);
  });
});
