// Root hooks of every test run: a timer, socket, server, worker or child process that outlives its tests fails the run.
// A promise that is rejected while no handler is attached fails the run, too, even if one is attached later (Node's
// PromiseRejectionHandledWarning). The check runs after each top-level describe, so that the failure names the suite
// with the leak. With TRACE_LEAKS=1 the failure also shows where each leak was created. TRACE_LEAKS halves the speed of
// a run, so it is not the default.
import { createHook } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';
import { addSkipBecause } from './skip-because.js';
import { timeFactor } from './tiers.js';

addSkipBecause();

/**
 * The longest time that the check waits for resources to be closed. Sockets need a few turns of the event loop; workers
 * need some milliseconds.
 */
const graceMs = 2_000 * timeFactor;
const pollMs = 10;

// The running worker threads. They keep the process alive, but `getActiveResourcesInfo` does not list them.
const workers = new Set();
subscribe('worker_threads', ({ worker }) => {
  // Node's own worker for hooks of the module loader: it does not keep the process alive, and cannot be ended.
  if (worker.constructor.name === 'InternalWorker') return;
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});

/**
 * Counts the resources that keep the process alive, by type. Idle keep-alive sockets of fetch are unref'd, so they do
 * not count.
 */
function census() {
  const counts = new Map();
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
  // Each of these is work that ends after a few turns of the event loop, never an open resource.
  for (const passing of ['Immediate', 'FSReqPromise', 'FSReqCallback', 'CloseReq']) counts.delete(passing);
  return counts.set('Worker', workers.size);
}

function surplus(now, before) {
  return [...now]
    .map(([type, count]) => ({ type, count: count - (before.get(type) ?? 0) }))
    .filter(({ count }) => count > 0);
}

/** Describes a handle: the ports of a socket, the address of a server, the command line of a child process. */
function describeHandle(handle) {
  const name = handle.constructor.name;
  if (typeof handle.address === 'function' && 'connections' in handle) return `${name} on ${handle.address()?.port}`;
  if (name === 'Server') return `${name} on ${JSON.stringify(handle.address())}`;
  if (handle.remotePort !== undefined) return `${name} ${handle.localPort} -> ${handle.remotePort}`;
  if (name === 'ChildProcess') return `${name} ${handle.spawnargs.join(' ')}`;
  return name;
}

const origins = new Map();
if (process.env.TRACE_LEAKS !== undefined) {
  createHook({
    init: (id, type) => {
      if (type !== 'PROMISE' && type !== 'TickObject') origins.set(id, `${type}${new Error('made here').stack}`);
    },
    destroy: (id) => origins.delete(id),
  }).enable();
}

function leakMessage(left) {
  const lines = left.map(({ type, count }) => `${count} x ${type}`);
  const handles = process
    ._getActiveHandles()
    .filter((handle) => handle !== process.stdout && handle !== process.stderr);
  const origin = [...origins.values()].filter((stack) => left.some(({ type }) => stack.startsWith(type)));
  const hint = process.env.TRACE_LEAKS === undefined ? ['(TRACE_LEAKS=1 shows where each was created)'] : origin;
  return ['left open:', ...lines, ...handles.map(describeHandle), ...hint].join('\n  ');
}

/**
 * Waits until mocha has set its timer for the hook, which it does once the hook has returned its promise. So each count
 * includes this timer, and the comparison of two counts is fair.
 */
const mochaTimer = () => delay(0);

// The reason of each rejected promise. The key is the promise, so that each rejection is reported once, although mocha
// emits each `unhandledRejection` a second time. Without the listener `onRejection`, mocha would ignore a rejection.
const rejections = new Map();
const onRejection = (reason, promise) => rejections.set(promise, reason);

function takeRejections() {
  const texts = [...rejections.values()].map((reason) => (reason instanceof Error ? reason.stack : String(reason)));
  rejections.clear();
  return texts.map((text) => `a promise was rejected without a handler: ${text}`);
}

let before = new Map();

/**
 * Waits until no type has more open resources than at the previous check. Throws when a type still has more at the end
 * of the wait, or when a promise was rejected without a handler. Each leak is reported once.
 */
async function expectNothingLeft() {
  await mochaTimer();
  const deadlineMs = performance.now() + graceMs;
  let left = surplus(census(), before);
  while (left.length > 0 && performance.now() < deadlineMs) {
    await delay(pollMs, undefined, { ref: false });
    left = surplus(census(), before);
  }
  // The next check compares with this new count. With the old count, a suite that closes a resource of an earlier suite
  // could hide its own leak.
  before = census();
  const problems = [...takeRejections(), ...(left.length > 0 ? [leakMessage(left)] : [])];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

export const mochaHooks = {
  async beforeAll() {
    // With parallel tests, mocha removes all listeners of this event after each test file. So this hook, which runs
    // before each file, adds the listener again.
    process.off('unhandledRejection', onRejection).on('unhandledRejection', onRejection);
    await mochaTimer();
    // Node opens stdout and stderr at their first use. That would look like a leak of the suite that prints first.
    process.stdout.ref?.();
    process.stderr.ref?.();
    before = census();
    for (const suite of this.test.parent.suites) suite.afterAll('leaves nothing open', expectNothingLeft);
  },
  afterAll: expectNothingLeft,
};
