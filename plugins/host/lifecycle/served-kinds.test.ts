import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { awaitServed } from './served-kinds.ts';

const kind = { group: 'widgets.example.com', version: 'v1', kind: 'Widget' };

describe('awaitServed', () => {
  it('reports the indexing of a large kind at once, and every 5 s until the kind is served', async () => {
    const clock = new FakeClock();
    const lines: unknown[] = [];
    const told: unknown[] = [];
    const log = (fields: object): void => void lines.push(fields);
    let serve = (): void => undefined;
    const ready = new Promise<void>((resolve) => (serve = resolve));
    let indexed = 0;
    const waiting = awaitServed([kind], {
      server: { whenReady: async () => ready, indexingProgress: () => (indexed += 1000) },
      clock,
      logger: { debug: log, info: log, warn: log, error: log },
      signal: new AbortController().signal,
      onProgress: (progress) => told.push(...(progress.length === 0 ? ['none'] : progress)),
    });
    await clock.advance(10_000);
    serve();
    await waiting;
    const line = { apiVersion: 'widgets.example.com/v1', kind: 'Widget' };
    expect(lines).to.deep.equal([
      { ...line, indexed: 2000 },
      { ...line, indexed: 3000 },
    ]);
    expect(told).to.deep.equal([{ ...line, indexed: 1000 }, ...lines, 'none']);
    expect(clock.pendingTimers).to.equal(0);
  });
});
