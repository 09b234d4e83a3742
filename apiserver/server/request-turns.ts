import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that wait on one connection; at this number the server reads no more of them from it. */
const maxWaiting = 100;

/** Requests that wait on all connections together, with about 4 KB each; beyond it the connection that brings more is closed. */
const maxWaitingInAll = 20_000;

/**
 * Requests that came behind another one on their connection (HTTP pipelining). Each begins when the answer before it has been
 * sent: begun at once, a few kilobytes of requests would make gigabytes of answers.
 */
export class RequestTurns {
  readonly #waiting = new WeakMap<Socket, number>();
  #inAll = 0;

  /** Calls `begin` when it is the response's turn; never when the connection is closed before. */
  wait(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const assign = response.assignSocket.bind(response);
    this.#add(socket);
    // Node calls this when the answer before has been sent: nothing else tells of it.
    response.assignSocket = (assigned) => {
      assign(assigned);
      this.#remove(socket);
      begin();
    };
  }

  #add(socket: Socket): void {
    const waiting = this.#waiting.get(socket);
    if (waiting === undefined) this.#follow(socket);
    this.#waiting.set(socket, (waiting ?? 0) + 1);
    this.#inAll += 1;
    if (this.#inAll > maxWaitingInAll) socket.destroy();
    else if (waiting === maxWaiting) socket.pause();
  }

  #remove(socket: Socket): void {
    const waiting = (this.#waiting.get(socket) ?? 0) - 1;
    this.#waiting.set(socket, waiting);
    this.#inAll -= 1;
    if (waiting === maxWaiting) socket.resume();
  }

  /** Two listeners a connection, however many requests wait on it. */
  #follow(socket: Socket): void {
    // Node goes on reading with each request that it has read, and with each that has been answered.
    socket.on('resume', () => {
      if ((this.#waiting.get(socket) ?? 0) > maxWaiting) socket.pause();
    });
    socket.once('close', () => {
      this.#inAll -= this.#waiting.get(socket) ?? 0;
      this.#waiting.set(socket, 0);
    });
  }
}
