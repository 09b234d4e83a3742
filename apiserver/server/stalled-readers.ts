import type { Socket } from 'node:net';
import type { Clock } from '@homeostat/controller-runtime/api';

/**
 * The minimum number of bytes that a client must read within {@link withinMs} while more bytes wait for it. Otherwise
 * its connection is closed. The limit is about 8.5 KiB/s. Without this limit, a client that reads a byte a minute would
 * keep its response in memory for years.
 */
const leastBytes = 512 * 1024;
const withinMs = 60_000;

interface Progress {
  /** The number of bytes that the server has passed to the operating system. */
  readonly taken: number;
  readonly sinceMs: number;
}

/** The members of a socket that {@link StalledReaders} uses. */
type Written = Pick<Socket, 'writableLength' | 'bytesWritten' | 'destroy'>;

/**
 * Closes connections whose clients read nothing or very slowly, so that their responses and watches do not stay in
 * memory.
 */
export class StalledReaders {
  readonly #sockets: Iterable<Written>;
  readonly #clock: Clock;
  readonly #progress = new WeakMap<Written, Progress>();

  constructor(sockets: Iterable<Written>, clock: Clock) {
    this.#sockets = sockets;
    this.#clock = clock;
  }

  /** Closes stalled connections. Called every few seconds. */
  check(): void {
    for (const socket of this.#sockets) this.#check(socket);
  }

  #check(socket: Written): void {
    const waiting = socket.writableLength;
    if (waiting === 0) {
      this.#progress.delete(socket);
      return;
    }
    const taken = socket.bytesWritten - waiting;
    const nowMs = this.#clock.monotonicMs();
    const last = this.#progress.get(socket);
    if (last === undefined || taken - last.taken >= leastBytes) this.#progress.set(socket, { taken, sinceMs: nowMs });
    else if (nowMs - last.sinceMs >= withinMs) socket.destroy();
  }
}
