// Our side of the comparison: an informer over HTTP, in a separate process from the server.
import { createClient } from '@homeostat/controller-runtime';
import { answerCalls } from '../processes/answer-calls.ts';
import { personModel } from '../load/person.ts';
import type { Person } from '../load/person.ts';

const model = personModel([]);

/** Stops the informer of the current round. */
let stop = new AbortController();
let running: Promise<void> = Promise.resolve();

/** The figures of one informer, from its start until it has all objects. Each round starts a new informer. */
export interface Synchronisation {
  /** The time from the call of `run` until the handler had received every object. */
  readonly ms: number;
  readonly objects: number;
  /** The size of the cached objects as JSON, in bytes. */
  readonly jsonBytes: number;
  /**
   * The growth of this process's memory, measured after garbage collection. In the first round, this growth is the
   * memory of the objects.
   */
  readonly heldBytes: number;
}

/** Starts an informer of the kind Person at a server. Resolves when all objects have arrived. Needs --expose-gc. */
async function synchronise(url: string): Promise<Synchronisation> {
  const before = heldBytes();
  const informer = createClient(url).informer(model);
  stop = new AbortController();
  let objects = 0;
  const startMs = performance.now();
  const registration = informer.addHandler({ onAdd: () => void (objects += 1) });
  running = informer.run(stop.signal);
  while (!registration.hasSynced()) await new Promise((resolve) => setImmediate(resolve));
  const ms = performance.now() - startMs;
  const held = heldBytes() - before;
  return { ms, objects, jsonBytes: jsonBytes(informer.list()), heldBytes: held };
}

/** Measures the limit: fetches and parses the same pages, and keeps nothing. Returns the time in milliseconds. */
async function parsePages(url: string): Promise<number> {
  const startMs = performance.now();
  let token = '';
  do {
    const response = await fetch(`${url}?limit=1000${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`);
    const page = (await response.json()) as { readonly metadata: { readonly continue?: string } };
    token = page.metadata.continue ?? '';
  } while (token !== '');
  return performance.now() - startMs;
}

function jsonBytes(objects: readonly Person[]): number {
  return objects.reduce((bytes, object) => bytes + Buffer.byteLength(JSON.stringify(object)), 0);
}

function heldBytes(): number {
  // The garbage is collected twice: the first collection leaves some objects to the finalizers of V8, and the second
  // collection frees these objects.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

answerCalls({
  synchronise,
  parsePages,
  stop: async () => {
    stop.abort();
    await running;
  },
});
