import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { figuresOf } from '../measure/figures.ts';
import type { Figures } from '../measure/figures.ts';

export interface HttpLoad {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Returns the next request, in the format of {@link formatRequest}. */
  readonly request: () => string;
}

/** The body of a request, and the token of the user who sends the request. */
interface SentBy {
  /** Default: no body. */
  readonly body?: string;
  readonly token: string;
}

/** Returns the text of a request in HTTP/1.1. The body must be ASCII. A PATCH is a server-side apply. */
export function formatRequest(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  sent: string | SentBy = '',
): string {
  const { body = '', token } = typeof sent === 'string' ? { body: sent, token: undefined } : sent;
  const bearer = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json';
  const content = method === 'GET' ? '' : `Content-Type: ${type}\r\nContent-Length: ${body.length.toString()}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${bearer}${content}\r\n${body}`;
}

/**
 * Sends one request after the other on each connection. The load generator runs on the same machine as the server, so
 * it should need little processor time: it uses raw sockets, parses only the head of a response, and counts the bytes
 * of the body. Rejects at the first response that is not a success.
 */
export async function loadHttp({ url, connections, seconds, request }: HttpLoad): Promise<Figures> {
  const latencies: number[] = [];
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, () => converse(url, { request, latencies, isOver: (nowMs) => nowMs > endMs })),
  );
  return figuresOf(Float64Array.from(latencies), performance.now() - startMs);
}

/** A connection that sends one request at a time. */
export class HttpConnection implements Disposable {
  readonly #socket: Socket;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const reject = (error: Error): void => this.#reject(error);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
    readAnswers(socket, reject, () => this.#resolve());
  }

  static async connect(url: string): Promise<HttpConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  /**
   * Sends a request from {@link formatRequest}. Resolves when the whole response has arrived, and rejects when it is
   * not a success.
   */
  send(request: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(request, 'latin1');
    });
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

interface Talk {
  readonly request: () => string;
  readonly latencies: number[];
  readonly isOver: (nowMs: number) => boolean;
}

function converse(url: string, { request, latencies, isOver }: Talk): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  return new Promise<void>((resolve, reject) => {
    let sentMs = 0;
    const send = (): void => {
      sentMs = performance.now();
      if (isOver(sentMs)) return resolve();
      socket.write(request(), 'latin1');
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
    readAnswers(socket, reject, () => {
      latencies.push(performance.now() - sentMs);
      send();
    });
  }).finally(() => socket.destroy());
}

function readAnswers(socket: Socket, onError: (error: Error) => void, onAnswer: () => void): void {
  let head = '';
  let missingBytes = 0;
  socket.on('data', (chunk: Buffer) => {
    if (missingBytes > 0) missingBytes -= chunk.length;
    else {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (head[9] !== '2') return onError(new Error(head));
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      missingBytes = end + 4 + length - head.length;
      head = '';
    }
    if (missingBytes <= 0) onAnswer();
  });
}
