import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { StalledReaders } from './stalled-readers.ts';

const KiB = 1024;

/**
 * A connection that accepts exactly as many bytes as its client reads. On a real connection, the server would see the
 * reads only in steps of some megabytes, because of the system's buffers.
 */
class Connection {
  bytesWritten = 100_000 * KiB;
  isDestroyed = false;
  #taken = 0;

  get writableLength(): number {
    return this.bytesWritten - this.#taken;
  }

  take(bytes: number): void {
    this.#taken = Math.min(this.bytesWritten, this.#taken + bytes);
  }

  destroy(): never {
    this.isDestroyed = true;
    return this as never;
  }
}

describe('a connection with a response that its client has not read', () => {
  /**
   * Simulates a client that reads `bytesOf(seconds)` bytes every five seconds. Returns the number of seconds after
   * which the server closes the client's connection; undefined when the connection is still open after ten minutes.
   */
  async function closedAfter(bytesOf: (seconds: number) => number): Promise<number | undefined> {
    const connection = new Connection();
    const clock = new FakeClock();
    const stalled = new StalledReaders([connection], clock);
    for (let seconds = 0; seconds <= 600; seconds += 5) {
      stalled.check();
      if (connection.isDestroyed) return seconds;
      connection.take(bytesOf(seconds));
      await clock.advance(5000);
    }
    return undefined;
  }

  it('is closed when its client has read less than 512 KiB in a minute', async () => {
    expect(await closedAfter(() => 0)).to.equal(60);
    expect(await closedAfter(() => 1)).to.equal(60);
    expect(await closedAfter(() => 512 * KiB * (5 / 60) - 1)).to.equal(60);
    expect(await closedAfter((seconds) => (seconds < 200 ? 512 * KiB : 1))).to.equal(260);
  });

  it('stays open while its client reads 512 KiB in each minute, evenly or all at one time', async () => {
    expect(await closedAfter(() => (512 * KiB) / 11)).to.equal(undefined);
    expect(await closedAfter((seconds) => (seconds % 55 === 0 ? 512 * KiB : 0))).to.equal(undefined);
  });

  it('stays open once its client has read the whole response', async () => {
    expect(await closedAfter((seconds) => (seconds === 0 ? 100_000 * KiB : 0))).to.equal(undefined);
  });
});
