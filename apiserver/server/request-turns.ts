import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The memory of the requests queued on one connection; beyond it the server stops reading from the connection. */
const maxBytesOfConnection = 512 * 1024;

/** The memory of the requests queued on all connections; beyond it the connection that adds more is closed. */
const maxBytesInAll = 64 * 1024 * 1024;

/** The memory of a request besides its head. */
const bytesOfRequest = 4096;

/** The memory of a header's name or value besides its characters. */
const bytesOfText = 32;

/**
 * Queues requests that arrive behind another one on their connection (HTTP pipelining). Each starts when the response
 * before it has been sent. If all started at once, a few kilobytes of requests would make gigabytes of responses.
 */
export class RequestTurns {
  /** The bytes of queued requests, by connection. */
  readonly #waiting = new WeakMap<Socket, number>();
  #inAll = 0;

  /** Calls `begin` when it is the response's turn; never if the connection is closed before. */
  wait(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const bytes = sizeOf(response.req);
    const assign = response.assignSocket.bind(response);
    this.#add(socket, bytes);
    // Node calls this when the response before it has been sent; there is no other signal.
    response.assignSocket = (assigned) => {
      assign(assigned);
      this.#remove(socket, bytes);
      begin();
    };
  }

  #add(socket: Socket, bytes: number): void {
    const before = this.#waiting.get(socket);
    if (before === undefined) this.#follow(socket);
    const after = (before ?? 0) + bytes;
    this.#waiting.set(socket, after);
    this.#inAll += bytes;
    if (this.#inAll > maxBytesInAll) socket.destroy();
    else if (after > maxBytesOfConnection) socket.pause();
  }

  #remove(socket: Socket, bytes: number): void {
    const before = this.#waiting.get(socket) ?? 0;
    const after = before - bytes;
    this.#waiting.set(socket, after);
    this.#inAll -= bytes;
    if (before > maxBytesOfConnection && after <= maxBytesOfConnection) socket.resume();
  }

  /** Adds two listeners per connection, however many requests are queued on it. */
  #follow(socket: Socket): void {
    // Node resumes reading after each request that it has read, and after each response.
    socket.on('resume', () => {
      if ((this.#waiting.get(socket) ?? 0) > maxBytesOfConnection) socket.pause();
    });
    socket.once('close', () => {
      this.#inAll -= this.#waiting.get(socket) ?? 0;
      this.#waiting.set(socket, 0);
    });
  }
}

function sizeOf({ url = '', rawHeaders }: IncomingMessage): number {
  let bytes = bytesOfRequest + url.length;
  for (const text of rawHeaders) bytes += text.length + bytesOfText;
  return bytes;
}
