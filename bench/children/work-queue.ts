// Both sides of the comparison: our work queue by itself, and the limit, which is a queue of two sets and an array,
// without priorities, reasons and failures.
import { systemClock, WorkQueue } from '@homeostat/controller-runtime';
import { answerCalls } from '../processes/answer-calls.ts';
import type { Figures } from '../measure/figures.ts';

/** The number of keys that wait at the same time. */
const waiting = 1_000;

const keys = Array.from(
  { length: waiting },
  (_, number) => `namespace-${(number % 10).toString()}/p-${number.toString()}`,
);

interface Queue {
  add(key: string): void;
  /** Takes the next key, and marks it as done. Returns false when no key waits. */
  serve(): boolean;
}

function workQueue(): Queue {
  const queue = new WorkQueue({ clock: systemClock });
  return {
    add: (key) => queue.add(key),
    serve: () => {
      const item = queue.get();
      if (item === undefined) return false;
      queue.done(item.key);
      return true;
    },
  };
}

function plainQueue(): Queue {
  let waitingKeys: string[] = [];
  let next = 0;
  const dirty = new Set<string>();
  const running = new Set<string>();
  return {
    add: (key) => {
      if (dirty.has(key)) return;
      dirty.add(key);
      if (!running.has(key)) waitingKeys.push(key);
    },
    serve: () => {
      const key = waitingKeys[next++];
      if (key === undefined) {
        waitingKeys = [];
        next = 0;
        return false;
      }
      running.add(key);
      dirty.delete(key);
      running.delete(key);
      return true;
    },
  };
}

/** Adds all keys, takes them and marks them as done, again and again, until at least `count` keys are done. */
function serveAll(queue: Queue, count: number): Figures {
  let served = 0;
  const startMs = performance.now();
  while (served < count) {
    for (const key of keys) queue.add(key);
    while (queue.serve()) served += 1;
  }
  const elapsedMs = performance.now() - startMs;
  return { opsPerSecond: (served / elapsedMs) * 1000, p50Ms: elapsedMs / served };
}

answerCalls({
  ours: (count: number) => serveAll(workQueue(), count),
  limit: (count: number) => serveAll(plainQueue(), count),
});
