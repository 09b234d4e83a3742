import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { StatusReason } from '@homeostat/controller-runtime/api';
import { WaitingAnswers } from './waiting-answers.ts';

/** Headers of one request, in bytes. */
const maxHeaderSize = 16 * 1024;

/** A request whose headers, or body, take longer is ended. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 60_000;

/** How long requests under way may take once the server stops. */
const drainMs = 10_000;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly insecure: boolean;
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/** The socket side of the server: limits, malformed requests, and an orderly end. */
export class HttpListener {
  readonly #server: Server;
  #url = '';
  #stopping = false;

  constructor(handler: (request: IncomingMessage, response: ServerResponse) => unknown) {
    const waiting = new WaitingAnswers();
    this.#server = createServer(
      // A request without Host is answered by the origin guard, with a Status.
      { maxHeaderSize, headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs, requireHostHeader: false },
      (request, response) => {
        waiting.add(response);
        return handler(request, response);
      },
    );
    this.#server.on('clientError', answerMalformed);
  }

  get url(): string {
    return this.#url;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Rejects when the address is taken, or is not a loopback address and `insecure` was not said. */
  async listen({ host, port, insecure }: ListenOptions): Promise<void> {
    if (!loopback.has(host) && !insecure) {
      throw new Error(
        `host ${host}: plain HTTP is for loopback addresses only; say insecure (--insecure) to listen there all the same`,
      );
    }
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    const address = this.#server.address() as AddressInfo;
    this.#url = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  }

  /** From now on requests are answered with 503. */
  refuse(): void {
    this.#stopping = true;
  }

  /** Takes no more connections, and resolves when the last one is gone; those that linger are cut off. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), drainMs);
    await closed;
    clearTimeout(timer);
  }
}

/** What is no HTTP at all gets a Status as well, where it can be written. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || (socket as Socket).bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const { line, code, reason, message } = malformedAnswer(error.code);
  // Two of these codes belong to no reason: the Status bears the code of its answer all the same.
  const status = JSON.stringify({ ...new ApiError(reason, message).toStatus(), code });
  socket.end(
    `HTTP/1.1 ${line}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(status)}\r\nConnection: close\r\n\r\n${status}`,
  );
}

interface MalformedAnswer {
  readonly line: string;
  readonly code: number;
  readonly reason: StatusReason;
  readonly message: string;
}

function malformedAnswer(error: string | undefined): MalformedAnswer {
  if (error === 'HPE_HEADER_OVERFLOW') {
    const message = `the headers are larger than ${maxHeaderSize} bytes`;
    return { line: '431 Request Header Fields Too Large', code: 431, reason: 'RequestEntityTooLarge', message };
  }
  if (error === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      line: '408 Request Timeout',
      code: 408,
      reason: 'Timeout',
      message: 'the request took too long to arrive',
    };
  }
  return { line: '400 Bad Request', code: 400, reason: 'BadRequest', message: 'the request is not valid HTTP' };
}
