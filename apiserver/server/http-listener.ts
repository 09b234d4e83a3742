import { createServer } from 'node:http';
import type { IncomingMessage, Server as HttpServer, ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsOptions as TlsServerOptions } from 'node:tls';
import { systemClock } from '@homeostat/controller-runtime';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock } from '@homeostat/controller-runtime/api';
import { discardRest, ServedRequest } from '../decode/read-body.ts';
import { PeriodicTask } from '../base/periodic-task.ts';
import { ArrivalTurns } from '../turns/arrival-turns.ts';
import { connectionTimes, maxHeaderSize } from './connection-limits.ts';
import type { ConnectionTimes } from './connection-limits.ts';
import { isLoopback } from './loopback.ts';
import { ConnectionTable } from './connection-table.ts';
import { answerMalformed, malformedResponse } from './malformed-requests.ts';
import { refusePlainHttp } from './plain-http-refusal.ts';
import { RequestTurns } from './request-turns.ts';
import { StalledReaders } from './stalled-readers.ts';

/**
 * The time for which a connection may be idle between requests. It is 90 s, as in kube-apiserver, so that clients and
 * proxies usually close idle connections first. When the server closes a connection first, a request may be on its way.
 * With Node's default of 5 s, a polling client could get a reset of the connection.
 */
const keepAliveTimeoutMs = 90_000;

/** The maximum time of a TLS handshake. A connection whose handshake takes longer is closed. */
const handshakeTimeoutMs = 10_000;

/** The interval at which connections are checked. */
const lookMs = 5000;

/** The time within which running requests must end after the stop of the server has begun. */
const drainMs = 10_000;

/**
 * During a stop of the server, a connection is closed this long after the response to its running request, or after the
 * start of the stop if it has never sent a request. A request that arrives within this time still gets a response.
 */
const silentMs = 100;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly insecure: boolean;
}

/** A private key, and its certificate followed by the intermediate certificates, as PEM. */
export interface KeyPair {
  readonly key: string;
  readonly cert: string;
  /** The authorities whose client certificates are accepted, as PEM. If absent, the server requests no certificates. */
  readonly clientAuthorities?: string | undefined;
}

export interface ListenerParts {
  /** The key and the certificate for HTTPS. Without them, the listener serves plain HTTP. */
  readonly keyPair?: KeyPair | undefined;
  readonly clock: Clock;
  /** The table of connections. Default: a table without limits. */
  readonly connections?: ConnectionTable;
  /** The time limits of connections. Default: 10 s for headers, and 60 s for a whole request. */
  readonly times?: ConnectionTimes;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * Listens for connections. Enforces their limits, refuses malformed requests, and closes all connections when the
 * server stops.
 */
export class HttpListener {
  readonly #server: HttpServer | HttpsServer;
  readonly #tls: HttpsServer | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #connections: ConnectionTable;
  readonly #stalled: StalledReaders;
  readonly #looks: PeriodicTask;
  #url = '';

  constructor(handler: Handler, parts: ListenerParts) {
    const { keyPair, clock, connections = new ConnectionTable(), times = connectionTimes } = parts;
    const answer = this.#inTurn(handler, clock);
    const httpOptions = { ...fixedOptions, ...timeOptions(times) };
    this.#looks = new PeriodicTask({ clock, intervalMs: lookMs, run: () => this.#lookAtConnections() });
    this.#stalled = new StalledReaders(this.#sockets, clock);
    this.#connections = connections;
    this.#tls = keyPair === undefined ? undefined : createHttpsServer(answer, keyPair, httpOptions);
    this.#server = this.#tls ?? createServer(httpOptions, answer);
    this.#server.on('connection', (socket: Socket) => this.#connections.add(socket));
    this.#server.on(this.#tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('clientError', (error, socket) => answerMalformed(error, socket, { connections, clock }));
  }

  /**
   * Returns a handler that handles the requests on one connection one after the other: each starts when the previous
   * response was sent.
   */
  #inTurn(handler: Handler, clock: Clock): Handler {
    const turns = new RequestTurns();
    const arrivals = new ArrivalTurns(clock);
    const handle: Handler = (request, response) => {
      if (request.socket.destroyed) return undefined;
      if (this.#connections.isStopping) response.shouldKeepAlive = false;
      return handler(request, response);
    };
    return (request, response) => {
      if (!this.#connections.hear(response)) return refuseUnknown(response);
      const { url = '' } = request;
      if (url.charCodeAt(0) !== slash && url !== '*') toOriginForm(request, url);
      // Node gives a response no socket while an earlier response on the same connection is not sent yet. Such a
      // request waits until the earlier response is sent.
      if (response.socket !== null) return arrivals.run(handle, request, response);
      return turns.wait(response, () => arrivals.run(handle, request, response));
    };
  }

  get url(): string {
    return this.#url;
  }

  /**
   * Listens on an address. Rejects when the address is in use. Without `insecure`, also rejects plain HTTP on an
   * address that other machines can reach.
   */
  async listen({ host, port, insecure }: ListenAddress): Promise<void> {
    if (!isLoopback(host) && this.#tls === undefined && !insecure) {
      throw new Error(
        `host ${host}: plain HTTP is for loopback addresses only; use tls (--tls), or insecure (--insecure) to listen without encryption`,
      );
    }
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    this.#looks.start();
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
    this.#url = `${this.#tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  }

  #lookAtConnections(): void {
    this.#stalled.check();
    this.#connections.forgetSent();
  }

  /**
   * Sets the key and the certificate for new connections. Throws for a pair that cannot be used, and always for plain
   * HTTP.
   */
  showKeyPair({ key, cert, clientAuthorities }: KeyPair): void {
    if (this.#tls === undefined) throw new Error('plain HTTP has no certificate');
    this.#tls.setSecureContext({ ...secureOptions, key, cert, ...clientOptions(clientAuthorities) });
  }

  /**
   * Makes each later request end its connection. Requests that read or write objects, and requests to plugins, get 503;
   * `/readyz` reports the shutdown.
   */
  refuse(): void {
    this.#connections.isStopping = true;
  }

  /**
   * Accepts no more connections, and resolves when the last connection is closed. After 10 s, closes the connections
   * that are still open.
   */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    // `Server.close` of Node closes the idle connections. A connection with a running request closes `silentMs` after
    // the response. A connection that has never sent a request closes `silentMs` from now.
    this.#server.keepAliveTimeout = silentMs;
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.setTimeout(silentMs);
    const timer = setTimeout(() => this.#server.closeAllConnections(), drainMs);
    await closed;
    clearTimeout(timer);
    await this.#looks.stop();
  }
}

/**
 * Refuses a request (429) and closes its connection, because the client's address has too many connections without a
 * valid credential.
 */
function refuseUnknown(response: ServerResponse): void {
  const message = 'too many connections without a valid credential from one address, please try again later';
  const status = JSON.stringify(new ApiError('TooManyRequests', message, { retryAfterSeconds: 1 }).toStatus());
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(status),
    'Retry-After': '1',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  };
  discardRest(response.req);
  response.writeHead(429, headers).end(status);
}

const fixedOptions = {
  maxHeaderSize,
  keepAliveTimeout: keepAliveTimeoutMs,
  // If neither a Host header nor the URL names a host, the origin guard refuses the request and responds with a Status.
  // So Node need not require the header.
  requireHostHeader: false,
  IncomingMessage: ServedRequest,
} as const;

function timeOptions({ headersMs, requestMs, checkMs }: ConnectionTimes): ServerOptions {
  return { headersTimeout: headersMs, requestTimeout: requestMs, connectionsCheckingInterval: checkMs };
}

/**
 * The cipher suites: all of TLS 1.3, and those of TLS 1.2 with forward secrecy and authenticated encryption (RFC 9325).
 */
const ciphers = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

const secureOptions = { minVersion: 'TLSv1.2', ciphers } as const;

/**
 * Returns the options with which a server requests client certificates. A connection with a certificate that the server
 * cannot verify is accepted: its requests may have another credential, and otherwise get a response with the reason.
 * Without `ca`, Node would accept every authority that it knows, so the server then requests no certificates.
 */
function clientOptions(ca: string | undefined): TlsServerOptions {
  return ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: false };
}

function createHttpsServer(answer: Handler, keyPair: KeyPair, options: ServerOptions): HttpsServer {
  const { key, cert, clientAuthorities } = keyPair;
  const connectionOptions = { handshakeTimeout: handshakeTimeoutMs, ALPNProtocols: ['http/1.1'] };
  const secure = { ...secureOptions, ...clientOptions(clientAuthorities), key, cert };
  const server = createTlsServer({ ...options, ...connectionOptions, ...secure }, answer);
  const message = 'client sent an HTTP request to an HTTPS server';
  const refusal = malformedResponse({ line: '400 Bad Request', code: 400, reason: 'BadRequest', message });
  // The system's clock is used, as for Node's own limits: connections take real time, even if a test gives the server
  // another clock.
  refusePlainHttp(server, { refusal, timeoutMs: handshakeTimeoutMs, clock: systemClock });
  return server;
}

const slash = 0x2f;

/**
 * Changes an absolute target (`GET http://host/path`, as for a proxy) into `/path?query`, and puts its host into the
 * Host header (RFC 9112, 3.2.2). For a target that is not a valid URL, the Host header becomes empty, and the request
 * is refused.
 */
function toOriginForm(request: IncomingMessage, target: string): void {
  const [, host = '', path = ''] = /^https?:\/\/([^/?#@\\]+)([/?].*)?$/i.exec(target) ?? [];
  const isUrl = host !== '' && URL.canParse(target);
  request.headers.host = isUrl ? host : '';
  request.url = isUrl ? `/${path.replace(/^\//, '')}` : '/';
}
