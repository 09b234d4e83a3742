// A program for the benchmark `owners`: one process with an API server and a controller. The controller reconciles
// objects of the kind Site, which own objects of the kind Page.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { startApiServer } from '@homeostat/apiserver';
import { controller, createManager, wish } from '@homeostat/controller-runtime';
import type { Client, ControllerDefinition } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import { answerCalls } from '../processes/answer-calls.ts';
import { runInFlight } from '../measure/in-flight.ts';

const Site = defineModel({
  gvk: 'bench.example.com/v1/Site',
  plural: 'sites',
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] } },
    required: ['spec'],
  } as const,
});

const Page = defineModel({
  gvk: 'bench.example.com/v1/Page',
  plural: 'pages',
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { title: { type: 'string' }, path: { type: 'string' }, views: { type: 'integer' } },
      },
    },
    required: ['spec'],
  } as const,
});

let client: Client;

interface Running {
  /** Returns true when no work is left. */
  isIdle(): boolean;
  /** Stops the controller. Settles when all its parts have stopped. */
  stop(): Promise<void>;
}

function start(definition: ControllerDefinition): Running {
  const aborting = new AbortController();
  const manager = createManager({ client, controllers: [definition] });
  const stopped = manager.run(aborting.signal);
  return {
    isIdle: () => manager.isIdle(),
    stop: async () => {
      aborting.abort();
      await stopped;
    },
  };
}

interface NewPage {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly title: string; readonly path: string; readonly views: number };
}

function pagesOf(site: string, size: number): readonly NewPage[] {
  return Array.from({ length: size }, (_, index) => ({
    metadata: { name: `${site}-${index.toString()}` },
    spec: { title: `Page ${index.toString()}`, path: `/${site}/${index.toString()}`, views: index },
  }));
}

/**
 * Returns a controller that calls `onRun` with the name of the site at the end of each run. When `onRun` returns true,
 * the run requests another run of its key.
 */
function sites(onRun: (name: string) => boolean): ControllerDefinition {
  return controller(Site, {
    owns: [Page],
    // Many runs at the same time, so that their writes share commits.
    concurrency: 32,
    hotLoopRunsPerMinute: Number.MAX_SAFE_INTEGER,
    async reconcile({ object, own }) {
      const { name } = object.metadata;
      await own(pagesOf(name, object.spec.size).map((page) => wish(Page, page)));
      return onRun(name) ? { after: 0 } : undefined;
    },
  });
}

export interface Reconciled {
  /** The time from the start until all sites are reconciled and no work is left. */
  readonly ms: number;
  /** The processor time of the whole process from the start until all sites are reconciled and no work is left. */
  readonly cpuMs: number;
  /** The memory of the process in bytes, after garbage collection, while the controller still runs. */
  readonly heldBytes: number;
}

/** Starts a controller, and stops it when it has reconciled all of `count` sites and has no work left. */
async function reconcileAll(count: number): Promise<Reconciled> {
  // A set, because a site is reconciled more than once when its pages change.
  const reconciled = new Set<string>();
  const startMs = performance.now();
  const before = process.cpuUsage();
  const running = start(
    sites((name) => {
      reconciled.add(name);
      return false;
    }),
  );
  while (reconciled.size < count || !running.isIdle()) await sleep(10);
  const ms = performance.now() - startMs;
  const { user, system } = process.cpuUsage(before);
  reconciled.clear();
  const held = await heldBytes();
  await running.stop();
  return { ms, cpuMs: (user + system) / 1000, heldBytes: held };
}

/**
 * Creates the sites and their pages without a controller. The measured times are close to the least possible cost of
 * the controller's writes.
 */
async function createAll(options: {
  readonly count: number;
  readonly size: number;
}): Promise<Omit<Reconciled, 'heldBytes'>> {
  const startMs = performance.now();
  const before = process.cpuUsage();
  await fill(options);
  const { items } = await client.list(Site);
  const sitesLeft = items.values();
  const operation = async (): Promise<void> => {
    const { value: site } = sitesLeft.next();
    if (site === undefined) return;
    const { apiVersion, kind, metadata } = site;
    const { name, uid } = metadata;
    const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
    const creations = pagesOf(name, options.size).map(async (page) =>
      client.create(Page, { ...page, metadata: { ...page.metadata, ownerReferences } }),
    );
    await Promise.all(creations);
  };
  await runInFlight({ count: options.count, width: 256, operation });
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - startMs, cpuMs: (user + system) / 1000 };
}

/** Resolves with the processor time of a run that changes nothing, in microseconds. */
async function runUnchanged(count: number): Promise<number> {
  let runs = 0;
  let before = process.cpuUsage();
  let onEnd = (): void => undefined;
  const ended = new Promise<void>((resolve) => (onEnd = resolve));
  const running = start(
    sites(() => {
      runs += 1;
      // The first `count` runs are only a warm-up.
      if (runs === count) before = process.cpuUsage();
      if (runs === count * 2) onEnd();
      return runs < count * 2;
    }),
  );
  await ended;
  const { user, system } = process.cpuUsage(before);
  await running.stop();
  return (user + system) / count;
}

async function fill({ count, size }: { readonly count: number; readonly size: number }): Promise<void> {
  let created = 0;
  const operation = (): Promise<unknown> => {
    const name = `s-${(created++).toString()}`;
    return client.create(Site, { metadata: { name }, spec: { size } });
  };
  await runInFlight({ count, width: 256, operation });
}

/** Returns the memory of the process in bytes, after garbage collection. */
async function heldBytes(): Promise<number> {
  await nextTurn();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

answerCalls({
  serve: async (database: string) => {
    const server = await startApiServer({ database, port: 0 });
    server.schemeManager.register(Site);
    server.schemeManager.register(Page);
    await Promise.all([server.whenReady(Site), server.whenReady(Page)]);
    client = server.client;
  },
  fill,
  createAll,
  reconcileAll,
  runUnchanged,
  heldBytes,
});
