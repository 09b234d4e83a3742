import { expect } from 'chai';

import { WorkerChannel } from './worker-channel.ts';

function worker(body: string): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort } from 'node:worker_threads'; ${body}`)}`,
  );
}

const reason = (error: unknown): unknown => error;

describe('WorkerChannel', () => {
  it('rejects all pending and later calls when the worker exits', async () => {
    const channel = new WorkerChannel(worker(`parentPort.on('message', ({ id }) => id === 2 && process.exit(3))`));
    const calls = [channel.call('pragmas', {}), channel.call('pragmas', {}), channel.call('pragmas', {})];
    for (const error of await Promise.all(calls.map((call) => call.catch(reason)))) {
      expect(error).to.include({ name: 'StoreError', code: 'crashed' });
      expect(String(error)).to.include('code 3');
    }
    await channel.exited();
    expect(await channel.call('pragmas', {}).catch(reason)).to.include({ code: 'crashed' });
  });

  it('rejects with the message of the error that the worker has thrown', async () => {
    const channel = new WorkerChannel(worker(`parentPort.on('message', () => { throw new Error('out of luck'); })`));
    const error = await channel.call('pragmas', {}).catch(reason);
    expect(error).to.include({ code: 'crashed' });
    expect(String(error)).to.include('out of luck');
    await channel.exited();
  });

  it('rejects pending calls when it is terminated', async () => {
    const channel = new WorkerChannel(worker(`parentPort.on('message', () => undefined)`));
    const call = channel.call('pragmas', {}).catch(reason);
    await channel.terminate();
    expect(await call).to.include({ code: 'crashed' });
  });
});
