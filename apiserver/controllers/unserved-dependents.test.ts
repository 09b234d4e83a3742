import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { UnservedLog } from '../registry/kinds/unserved-log.ts';
import type { Store } from '../store/store.ts';
import { UnservedDependents } from './unserved-dependents.ts';

describe('dependents of kinds that are not served', () => {
  it('when the database cannot be read, the search for them fails without an unhandled rejection', async () => {
    const closed: ((resource: Resource) => void)[] = [];
    const table = { on: (_event: string, listener: (resource: Resource) => void) => closed.push(listener) };
    let fail = (_error: Error): void => {};
    const read = new Promise<never>((_resolve, reject) => (fail = reject));
    const store = {
      async *scan() {
        yield await read;
      },
    };
    const dependents = new UnservedDependents({
      // The store has only the methods that this test calls.
      store: store as unknown as Store,
      table: table as unknown as ResourceTable,
      log: new UnservedLog(0),
      hidden: 0,
    });
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    const asked = dependents.some(() => true).catch((error: unknown) => String(error));
    for (const tell of closed) tell({ kindNumber: 7 } as Resource);
    fail(new Error('the database is away'));
    expect(await asked).to.equal('Error: the database is away');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).to.deep.equal([]);
  });

  it('are searched once for many callers, and once more for all callers that arrive during the search', async () => {
    const dependent = { metadata: { ownerReferences: [{ uid: 'owner-7' }] } };
    const data = Buffer.from(JSON.stringify(dependent));
    let scans = 0;
    let letGo = (): void => {};
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    const store = {
      async *scan(kind?: number) {
        if (kind !== undefined) {
          scans += 1;
          await gate;
        }
        yield [{ key: '/registry/a.example.com/things/x', data }];
      },
      numberOf: async () => 1,
    };
    const table = { on: () => undefined, ofNumber: () => undefined };
    const dependents = new UnservedDependents({
      store: store as unknown as Store,
      table: table as unknown as ResourceTable,
      log: new UnservedLog(0),
      hidden: 0,
    });
    const isOwned = (at: number): Promise<boolean> => dependents.some(({ uid }) => uid === `owner-${at}`);
    const ask = (): Promise<number[]> =>
      Promise.all(Array.from({ length: 20 }, async (_each, at) => ((await isOwned(at)) ? [at] : []))).then((found) =>
        found.flat(),
      );
    const first = ask();
    await eventually(() => scans > 0);
    const later = [ask(), ask()];
    letGo();
    expect(await Promise.all([first, ...later])).to.deep.equal([[7], [7], [7]]);
    expect(scans).to.equal(2);
  });
});
