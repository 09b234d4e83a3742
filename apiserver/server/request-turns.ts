import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The maximum memory of the requests that are queued on one connection. Beyond it, the server stops reading from the
 * connection.
 */
const maxBytesOfConnection = 512 * 1024;

/**
 * The maximum memory of the requests that are queued on all connections. Beyond it, a connection on which another
 * request arrives is closed.
 */
const maxBytesInAll = 64 * 1024 * 1024;

/** The memory of a request in addition to its URL and its headers. */
const bytesOfRequest = 4096;

/** The memory that each name and each value of a header takes in addition to its characters. */
const bytesOfText = 32;

/**
 * Queues requests that arrive before an earlier request on the same connection has its response (HTTP pipelining). Each
 * request starts when the previous response was sent. If all started immediately, a few kilobytes of requests could
 * cause gigabytes of responses.
 */
export class RequestTurns {
  /** The bytes of queued requests, by connection. */
  readonly #waiting = new WeakMap<Socket, number>();
  #inAll = 0;

  /**
   * Calls `begin` when all earlier responses on the connection were sent; never if the connection is closed before
   * that.
   */
  wait(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const bytes = sizeOf(response.req);
    const assign = response.assignSocket.bind(response);
    this.#add(socket, bytes);
    // Node calls `assignSocket` of a queued response when the previous response on the connection was sent.
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

  /**
   * Listens to a connection: pauses it when Node resumes it too early, and subtracts its waiting bytes from the total
   * when it closes. Called once for each connection, not for each request.
   */
  #follow(socket: Socket): void {
    // Node resumes reading after each request and each response. While the queued requests exceed the limit, this
    // handler pauses the connection again.
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
