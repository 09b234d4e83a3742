import { expect } from 'chai';
import type { Resource } from '../registry/resource.ts';
import type { ResourceTable } from '../registry/resource-table.ts';
import { UnservedLog } from '../registry/unserved-log.ts';
import type { Store } from '../store/store.ts';
import { UnservedDependents } from './unserved-dependents.ts';

describe('dependents of kinds that are not served', () => {
  it('are a failure for who asks alone, when the database cannot be read while a kind is taken back', async () => {
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
      // Only what is asked of them.
      store: store as unknown as Store,
      table: table as unknown as ResourceTable,
      log: new UnservedLog(0),
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
});
