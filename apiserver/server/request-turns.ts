import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What the requests that wait on one connection may take in memory; beyond it the server reads no more of them from it. */
const maxBytesOfConnection = 512 * 1024;

/** What the requests that wait on all connections may take; beyond it the connection that brings more is closed. */
const maxBytesInAll = 64 * 1024 * 1024;

/** What a request takes beside its head. */
const bytesOfRequest = 4096;

/** What a name or value of a header takes beside its characters. */
const bytesOfText = 32;

/**
 * Requests that came behind another one on their connection (HTTP pipelining). Each begins when the answer before it has been
 * sent: begun at once, a few kilobytes of requests would make gigabytes of answers.
 */
export class RequestTurns {
  /** Bytes of those that wait. */
  readonly #waiting = new WeakMap<Socket, number>();
  #inAll = 0;

  /** Calls `begin` when it is the response's turn; never when the connection is closed before. */
  wait(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const bytes = sizeOf(response.req);
    const assign = response.assignSocket.bind(response);
    this.#add(socket, bytes);
    // Node calls this when the answer before has been sent: nothing else tells of it.
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

  /** Two listeners a connection, however many requests wait on it. */
  #follow(socket: Socket): void {
    // Node goes on reading with each request that it has read, and with each that has been answered.
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
