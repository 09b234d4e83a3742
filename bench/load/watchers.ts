import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** The query of a watch that does not start with the existing objects. */
export const watchFromNow = '?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan';

/**
 * The number of connections that are opened at the same time. With thousands, the server might close a connection
 * before its request arrives.
 */
const openedAtOnce = 500;

const newline = 10;
const brace = 125;

/**
 * All sockets read into the same memory. They can, because the frames of one read are counted before the next socket
 * reads.
 */
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * Many watch connections. They record the time when each frame arrives, without parsing it. A newline directly after
 * `}` is the end of a frame. Other newlines do not count: in the lines of the chunked encoding, a carriage return comes
 * before the newline, and a heartbeat is a newline alone.
 */
export class Watchers implements Disposable {
  readonly #sockets: Socket[] = [];
  /** The arrival times of the current round, by watcher. */
  #arrivalsMs: number[][];
  #missing = 0;
  #onComplete: () => void = () => undefined;
  #onError: (error: Error) => void = () => undefined;

  private constructor(count: number) {
    this.#arrivalsMs = Array.from({ length: count }, () => []);
  }

  /** Opens the connections. Resolves when the first bytes of all responses have arrived. */
  static async connect(url: string, count: number): Promise<Watchers> {
    const watchers = new Watchers(count);
    for (let first = 0; first < count; first += openedAtOnce) {
      const positions = Array.from({ length: Math.min(openedAtOnce, count - first) }, (_, at) => first + at);
      await Promise.all(positions.map((position) => watchers.#open(new URL(url), position)));
    }
    return watchers;
  }

  /**
   * Waits until each watcher has received `frames` more frames. Resolves with their arrival times, by watcher and
   * frame.
   */
  async collect(frames: number): Promise<readonly (readonly number[])[]> {
    this.#arrivalsMs = this.#sockets.map(() => []);
    this.#missing = frames * this.#sockets.length;
    await new Promise<void>((resolve, reject) => {
      this.#onComplete = resolve;
      this.#onError = reject;
    });
    return this.#arrivalsMs;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #open({ hostname, port, pathname, search }: URL, position: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let last = 0;
      const onRead = (length: number): boolean => {
        this.#count(length, last, position);
        last = readBuffer[length - 1] ?? 0;
        resolve();
        return true;
      };
      const onread = { buffer: readBuffer, callback: onRead };
      const socket = connect({ host: hostname, port: Number(port), onread });
      socket.on('error', (error) => {
        reject(error);
        this.#onError(error);
      });
      socket.on('close', () => this.#onError(new Error('a watch was ended by the server')));
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      this.#sockets[position] = socket;
    });
  }

  #count(length: number, last: number, position: number): void {
    const nowMs = performance.now();
    // A newline after the last byte lets the search below end there, before the bytes of an earlier read.
    if (length < readBuffer.length) readBuffer[length] = newline;
    for (let at = readBuffer.indexOf(newline); at >= 0 && at < length; at = readBuffer.indexOf(newline, at + 1)) {
      if ((at === 0 ? last : readBuffer[at - 1]) !== brace) continue;
      this.#arrivalsMs[position]?.push(nowMs);
      this.#missing -= 1;
      if (this.#missing === 0) this.#onComplete();
    }
  }
}
