import type { Socket } from 'node:net';
import type { Clock, Timer } from '@homeostat/controller-runtime/api';

/** A connection whose client takes nothing of what waits for it for so long is closed. */
const stallMs = 60_000;

const intervalMs = 5000;

interface Progress {
  /** Bytes that the system has taken. */
  readonly taken: number;
  readonly sinceMs: number;
}

/** Closes connections whose clients do not read, so that answers and watches do not stay in memory for them. */
export class StalledReaders {
  readonly #sockets: Iterable<Socket>;
  readonly #clock: Clock;
  readonly #progress = new WeakMap<Socket, Progress>();
  #timer: Timer | undefined;

  constructor(sockets: Iterable<Socket>, clock: Clock) {
    this.#sockets = sockets;
    this.#clock = clock;
  }

  start(): void {
    this.#timer = this.#clock.setTimeout(() => {
      for (const socket of this.#sockets) this.#check(socket);
      this.start();
    }, intervalMs);
    this.#timer.unref?.();
  }

  stop(): void {
    this.#clock.clearTimeout(this.#timer);
  }

  #check(socket: Socket): void {
    const waiting = socket.writableLength;
    if (waiting === 0) {
      this.#progress.delete(socket);
      return;
    }
    const taken = socket.bytesWritten - waiting;
    const nowMs = this.#clock.monotonicMs();
    const last = this.#progress.get(socket);
    if (last?.taken !== taken) this.#progress.set(socket, { taken, sinceMs: nowMs });
    else if (nowMs - last.sinceMs >= stallMs) socket.destroy();
  }
}
