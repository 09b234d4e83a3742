import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Answers that wait for their turn, since their request came behind another on one connection (HTTP pipelining). When the
 * connection goes, node tells only the answer that has it; these would hold their watch, or their handler, for ever.
 */
export class WaitingAnswers {
  readonly #bySocket = new WeakMap<Socket, Set<ServerResponse>>();

  /** Has an answer that has to wait emit `close` when its connection goes first. */
  add(answer: ServerResponse): void {
    if (answer.socket !== null) return;
    const { socket } = answer.req;
    const answers = this.#bySocket.get(socket) ?? this.#follow(socket);
    answers.add(answer);
    answer.once('close', () => answers.delete(answer));
  }

  /** One listener a connection, however many wait on it. */
  #follow(socket: Socket): Set<ServerResponse> {
    const answers = new Set<ServerResponse>();
    this.#bySocket.set(socket, answers);
    socket.once('close', () => {
      for (const answer of answers) if (answer.socket === null && !answer.writableFinished) answer.emit('close');
    });
    return answers;
  }
}
