// Root hooks of every test run: a timer, socket, server, worker or child process that outlives its tests fails the
// run, and so does a promise that is rejected while nothing handles it, even if it is handled later (Node's
// PromiseRejectionHandledWarning). Checked after each top-level describe, so that the failure names the culprit. With
// TRACE_LEAKS=1 it also shows where each leak was created; that halves the speed of a run, so it is not the default.
import { createHook } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';
import { addSkipBecause } from './skip-because.js';
import { timeFactor } from './tiers.js';

addSkipBecause();

/** Closing takes a moment: sockets end over a few turns, workers need some milliseconds. */
const graceMs = 2_000 * timeFactor;
const pollMs = 10;

// A worker thread keeps the process alive without being listed among its resources.
const workers = new Set();
subscribe('worker_threads', ({ worker }) => {
  // Node's own worker for hooks of the module loader: it does not keep the process alive, and cannot be ended.
  if (worker.constructor.name === 'InternalWorker') return;
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});

/** Everything that keeps the process alive, by type. Idle keep-alive sockets of fetch do not: they are unref'd. */
function census() {
  const counts = new Map();
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
  // Each is work of a few turns, never an open resource.
  for (const passing of ['Immediate', 'FSReqPromise', 'FSReqCallback', 'CloseReq']) counts.delete(passing);
  return counts.set('Worker', workers.size);
}

function surplus(now, before) {
  return [...now]
    .map(([type, count]) => ({ type, count: count - (before.get(type) ?? 0) }))
    .filter(({ count }) => count > 0);
}

/** Describes a handle: a socket's ends, a server's address, a child's command line. */
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
  const hint = process.env.TRACE_LEAKS === undefined ? ['(TRACE_LEAKS=1 says where each was made)'] : origin;
  return ['left open:', ...lines, ...handles.map(describeHandle), ...hint].join('\n  ');
}

/**
 * mocha sets a timer for a hook once the hook has returned its promise. Waiting for that puts the timer into every
 * count.
 */
const mochaTimer = () => delay(0);

// By promise, because mocha emits each event a second time. Without this listener mocha would ignore a rejection.
const rejections = new Map();
const onRejection = (reason, promise) => rejections.set(promise, reason);

function takeRejections() {
  const texts = [...rejections.values()].map((reason) => (reason instanceof Error ? reason.stack : String(reason)));
  rejections.clear();
  return texts.map((text) => `rejected while nothing handled it: ${text}`);
}

let before = new Map();

/** Waits until no more resources are open than before; otherwise throws, once for each leak, and for rejections. */
async function expectNothingLeft() {
  await mochaTimer();
  const deadlineMs = performance.now() + graceMs;
  let left = surplus(census(), before);
  while (left.length > 0 && performance.now() < deadlineMs) {
    await delay(pollMs, undefined, { ref: false });
    left = surplus(census(), before);
  }
  // The lowest level so far, because a suite that closes a resource of another must not hide its own leak.
  before = census();
  const problems = [...takeRejections(), ...(left.length > 0 ? [leakMessage(left)] : [])];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

export const mochaHooks = {
  async beforeAll() {
    // A worker of mocha removes all listeners after each file.
    process.off('unhandledRejection', onRejection).on('unhandledRejection', onRejection);
    await mochaTimer();
    // Both streams are opened on first use, which would look like a leak of the suite that prints first.
    process.stdout.ref?.();
    process.stderr.ref?.();
    before = census();
    for (const suite of this.test.parent.suites) suite.afterAll('leaves nothing open', expectNothingLeft);
  },
  afterAll: expectNothingLeft,
};
