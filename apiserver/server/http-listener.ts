import { createServer } from 'node:http';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { systemClock } from '@homeostat/controller-runtime';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, StatusReason } from '@homeostat/controller-runtime/api';
import { refusePlainHttp } from './plain-http-refusal.ts';
import { RequestTurns } from './request-turns.ts';
import { StalledReaders } from './stalled-readers.ts';

/** Headers of one request, in bytes. */
const maxHeaderSize = 16 * 1024;

/** A request whose headers, or body, take longer is ended. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 60_000;

/**
 * How long a connection may wait for its next request: as with Kubernetes, longer than clients and proxies keep theirs. Who closes
 * first must not be the server, under whom a request may be on its way: node's 5 s would cost a client that polls a reset.
 */
const keepAliveTimeoutMs = 90_000;

/** A connection whose TLS handshake takes longer is ended. */
const handshakeTimeoutMs = 10_000;

/** How long requests under way may take once the server stops. */
const drainMs = 10_000;

/** How long a connection may be silent then before it is closed: a request that is on its way is still answered. */
const silentMs = 100;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly insecure: boolean;
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/** A private key, and its certificate with those between it and its authority. PEM. */
export interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

export interface ListenerOptions {
  /** HTTPS with it, plain HTTP without. */
  readonly keyPair?: KeyPair | undefined;
  readonly clock: Clock;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** The socket side of the server: limits, malformed requests, and an orderly end. */
export class HttpListener {
  readonly #server: HttpServer | HttpsServer;
  readonly #tls: HttpsServer | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #stalled: StalledReaders;
  #url = '';
  #stopping = false;

  constructor(handler: Handler, { keyPair, clock }: ListenerOptions) {
    this.#stalled = new StalledReaders(this.#sockets, clock);
    const turns = new RequestTurns();
    const begin: Handler = (request, response) => {
      if (this.#stopping) response.shouldKeepAlive = false;
      return handler(request, response);
    };
    const answer: Handler = (request, response) => {
      // Without a socket there is another answer before it on the connection.
      if (response.socket !== null) return begin(request, response);
      return turns.wait(response, () => begin(request, response));
    };
    this.#tls = keyPair === undefined ? undefined : createHttpsServer(answer, keyPair);
    this.#server = this.#tls ?? createServer(httpOptions, answer);
    this.#server.on(this.#tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('clientError', answerMalformed);
  }

  get url(): string {
    return this.#url;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Rejects when the address is taken, or is for plain HTTP no loopback address, and `insecure` was not said. */
  async listen({ host, port, insecure }: ListenOptions): Promise<void> {
    if (!loopback.has(host) && this.#tls === undefined && !insecure) {
      throw new Error(
        `host ${host}: plain HTTP is for loopback addresses only; use tls (--tls), or say insecure (--insecure) to listen there in the clear`,
      );
    }
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    this.#stalled.start();
    const address = this.#server.address() as AddressInfo;
    this.#url = `${this.#tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  }

  /** What clients see that connect from now on. Throws on what cannot be used; of plain HTTP, always. */
  showKeyPair({ key, cert }: KeyPair): void {
    if (this.#tls === undefined) throw new Error('plain HTTP has no certificate');
    this.#tls.setSecureContext({ ...secureOptions, key, cert });
  }

  /** From now on requests are answered with 503, each as the last of its connection. */
  refuse(): void {
    this.#stopping = true;
  }

  /** Takes no more connections, and resolves when the last one is gone; those that linger are cut off. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    // Node closes those between two requests, but for those whose answer is under way, and those that never asked.
    this.#server.keepAliveTimeout = silentMs;
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.setTimeout(silentMs);
    const timer = setTimeout(() => this.#server.closeAllConnections(), drainMs);
    await closed;
    clearTimeout(timer);
    this.#stalled.stop();
  }
}

const httpOptions = {
  maxHeaderSize,
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: keepAliveTimeoutMs,
  // A request without Host is answered by the origin guard, with a Status.
  requireHostHeader: false,
} as const;

const secureOptions = { minVersion: 'TLSv1.2' } as const;

function createHttpsServer(answer: Handler, { key, cert }: KeyPair): HttpsServer {
  const connectionOptions = { handshakeTimeout: handshakeTimeoutMs, ALPNProtocols: ['http/1.1'] };
  const server = createTlsServer({ ...httpOptions, ...connectionOptions, ...secureOptions, key, cert }, answer);
  const message = 'client sent an HTTP request to an HTTPS server';
  const refusal = malformedResponse({ line: '400 Bad Request', code: 400, reason: 'BadRequest', message });
  // By the system's clock, as all limits that Node keeps: connections are made in real time, whatever time a server lives in.
  refusePlainHttp(server, { refusal, timeoutMs: handshakeTimeoutMs, clock: systemClock });
  return server;
}

/** What is no HTTP at all gets a Status as well, where it can be written. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  // What cut an answer off comes by here as well, with whatever code it has.
  const code = String(error.code);
  const isHttp = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!socket.writable || !isHttp || (socket as Socket).bytesWritten > 0) {
    socket.destroy();
    return;
  }
  socket.end(malformedResponse(malformedAnswer(code)));
}

function malformedResponse({ line, code, reason, message }: MalformedAnswer): string {
  // Two of these codes belong to no reason: the Status bears the code of its answer all the same.
  const status = JSON.stringify({ ...new ApiError(reason, message).toStatus(), code });
  const headers = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(status)}\r\nConnection: close`;
  return `HTTP/1.1 ${line}\r\n${headers}\r\n\r\n${status}`;
}

interface MalformedAnswer {
  readonly line: string;
  readonly code: number;
  readonly reason: StatusReason;
  readonly message: string;
}

function malformedAnswer(error: string): MalformedAnswer {
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
