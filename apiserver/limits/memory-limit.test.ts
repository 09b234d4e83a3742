import { FakeClock } from '@homeostat/controller-runtime/testing';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { MemoryLimit } from './memory-limit.ts';
import type { MemoryUse } from './process-memory.ts';

interface Setup {
  readonly memory: MemoryLimit;
  readonly clock: FakeClock;
  readonly use: { -readonly [K in keyof MemoryUse]: MemoryUse[K] } & { garbage: number };
  readonly counts: { collected: number; relieved: number };
}

/** Returns a limit for a process with 1,000 usable bytes of heap, in a container with 10,000 bytes. */
function setup(): Setup {
  const use = { heap: 100, garbage: 0, heapLimit: 1250, resident: 1000, residentLimit: 10_000 };
  const counts = { collected: 0, relieved: 0 };
  const meter = {
    read: (): MemoryUse => ({ ...use, heap: use.heap + use.garbage }),
    collect: (): void => {
      use.garbage = 0;
      counts.collected += 1;
    },
  };
  const clock = new FakeClock();
  const memory = new MemoryLimit({ meter, clock, logger: silentLogger, onFull: () => (counts.relieved += 1) });
  memory.start();
  return { memory, clock, use, counts };
}

describe('MemoryLimit', () => {
  it('refuses growth when 85 % of the usable heap are in use, until less than 82 % are in use', async () => {
    const at = setup();
    for (const [heap, expected] of [
      [849, false],
      [850, true],
      [830, true],
      [819, false],
      [840, false],
      [900, true],
    ] as const) {
      at.use.heap = heap;
      await at.clock.advance(6000);
      expect(at.memory.isFull, `${heap} of 1,000 bytes`).to.equal(expected);
    }
  });

  it('refuses with a 507 that has a time for the next attempt, and counts the refusals', () => {
    const { memory } = setup();
    expect(memory.refuse().toStatus()).to.deep.include({
      reason: 'InsufficientStorage',
      code: 507,
      details: { retryAfterSeconds: 10 },
    });
    expect(memory.refusals).to.equal(1);
  });

  it('refuses growth from 85 % of the memory that the system grants', async () => {
    const at = setup();
    at.use.resident = 8500;
    await at.clock.advance(1000);
    expect(at.memory.isFull).to.equal(true);
    at.use.residentLimit = Number.POSITIVE_INFINITY;
    await at.clock.advance(6000);
    expect(at.memory.isFull).to.equal(false);
  });

  it('collects garbage before it refuses, and collects it again only after the heap has grown by more than 5 % of its usable size', async () => {
    const at = setup();
    at.use.heap = 800;
    at.use.garbage = 100;
    await at.clock.advance(1000);
    expect([at.memory.isFull, at.counts.collected]).to.deep.equal([false, 1]);
    at.use.garbage = 50;
    await at.clock.advance(60_000);
    expect([at.memory.isFull, at.counts.collected], 'grown by 5 %').to.deep.equal([false, 1]);
    at.use.garbage = 51;
    await at.clock.advance(1000);
    expect([at.memory.isFull, at.counts.collected], 'grown by more').to.deep.equal([false, 2]);
  });

  it('calls onFull every 100 ms while memory is full', async () => {
    const at = setup();
    await at.clock.advance(10_000);
    expect(at.counts.relieved).to.equal(0);
    at.use.heap = 900;
    await at.clock.advance(1000);
    expect(at.counts.relieved).to.equal(1);
    await at.clock.advance(1000);
    expect(at.counts.relieved).to.equal(11);
  });

  describe('at a start', () => {
    const mebibyte = 1024 * 1024;

    it('reports that the objects do not fit into the heap, and how much memory they need', () => {
      const { memory, use } = setup();
      use.heapLimit = 125 * mebibyte;
      memory.begin();
      use.heap += 30 * mebibyte;
      expect(memory.excess(50_000, 0)).to.equal(undefined);
      use.heap += 45 * mebibyte;
      const excess = memory.excess(200_000, 0);
      expect(excess?.heap, '75 MiB, and 200 bytes each for the indexes').to.equal(100 + 75 * mebibyte + 40_000_000);
      expect(excess && memory.needOf({ objects: 1_000_000, bytes: 1e9 }, excess, 200_000)).to.equal(
        'the 1000000 stored objects need about 832 MiB of memory, and the limit is 125 MiB: set NODE_OPTIONS=--max-old-space-size=832',
      );
    });

    it('divides the growth of the heap by the objects of all kinds that were opened', () => {
      const { memory, use } = setup();
      use.heapLimit = 125 * mebibyte;
      memory.begin();
      memory.end(198_000);
      use.heap += 95 * mebibyte;
      const excess = memory.excess(2_000, 0);
      expect(excess && memory.needOf({ objects: 400_000, bytes: 1e9 }, excess, 2_000)).to.include('about 281 MiB');
    });

    it('reports that the objects do not fit into the memory that the system grants, and estimates the needed memory from their bytes', () => {
      const { memory, use } = setup();
      Object.assign(use, { heapLimit: 4000 * mebibyte, resident: 100 * mebibyte, residentLimit: 320 * mebibyte });
      memory.begin();
      use.resident = 280 * mebibyte;
      expect(memory.excess(200, 0)).to.equal(undefined);
      const excess = memory.excess(200, 8 * mebibyte);
      expect(excess?.resident).to.equal(288 * mebibyte);
      const sizes = [
        [{ objects: 10_000, bytes: 1000 * mebibyte }, Math.ceil((1100 + 4e6 / mebibyte) / 0.85)],
        [{ objects: 500, bytes: mebibyte }, Math.ceil(288 / 0.85)],
      ] as const;
      for (const [stored, needed] of sizes) {
        expect(excess && memory.needOf(stored, excess, 200)).to.equal(
          `the ${stored.objects} stored objects need about ${needed} MiB of memory, and the limit is 320 MiB: raise the memory of the container or control group`,
        );
      }
    });
  });
});
