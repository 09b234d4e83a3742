import { readFile } from 'node:fs/promises';
import type { Clock } from '@homeostat/controller-runtime/api';

import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientUnaryCall,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';

import { EtcdError, fromCall, isLostConnection } from './etcd-errors.ts';
import { codecOf, type Methods, type Streams } from './etcd-messages.ts';
import type { EtcdDatabase, EtcdTlsFiles, EtcdUser } from './etcd-url.ts';
import { StoreError } from '../store-error.ts';

/**
 * The time after which a call to etcd counts as lost. It is longer than an election among the members of etcd, which
 * takes one or two seconds, and longer than a large transaction.
 */
const callTimeoutMs = 5_000;

/**
 * The timeout of calls during an attempt to connect. It is short, so that a member that does not respond leaves time
 * for the other members.
 */
const openTimeoutMs = 1_500;

const options = {
  // This client does not limit messages: an object has up to 1.5 MiB, and a page has several objects. etcd itself
  // limits requests, but not responses.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // The library must not repeat requests: the store itself repeats those that may be repeated, and looks up the outcome
  // of the others.
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  // etcd closes a connection that sends keepalive pings more often than every 5 s, or without an open call.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
};

const codecs: { readonly [Method in keyof (Methods & Streams)]: ReturnType<typeof codecOf<Method>> } = {
  'KV/Range': codecOf('KV/Range'),
  'KV/Txn': codecOf('KV/Txn'),
  'KV/Compact': codecOf('KV/Compact'),
  'Lease/LeaseGrant': codecOf('Lease/LeaseGrant'),
  'Lease/LeaseRevoke': codecOf('Lease/LeaseRevoke'),
  'Maintenance/Status': codecOf('Maintenance/Status'),
  'Auth/Authenticate': codecOf('Auth/Authenticate'),
  'Watch/Watch': codecOf('Watch/Watch'),
  'Lease/LeaseKeepAlive': codecOf('Lease/LeaseKeepAlive'),
};

export interface EtcdAccess extends Pick<EtcdDatabase, 'tls' | 'user'> {
  readonly clock: Clock;
}

/** A connection to one member. */
export class EtcdConnection {
  readonly endpoint: string;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #metadata = new Metadata();
  #timeoutMs = openTimeoutMs;
  #isLost = false;
  readonly #running = new Set<ClientUnaryCall>();
  readonly #streams = new Set<{ cancel(): void }>();
  #onIdle: (() => void) | undefined;
  readonly #endListeners: (() => void)[] = [];

  private constructor(endpoint: string, channel: ChannelCredentials, clock: Clock) {
    this.endpoint = endpoint;
    this.#clock = clock;
    this.#client = new Client(endpoint, channel, options);
    // With this header, a member without a leader refuses requests immediately, instead of letting them wait.
    this.#metadata.set('hasleader', 'true');
  }

  /**
   * Creates a connection, and logs in if there is a user. Calls have a shorter timeout until {@link ready} is called.
   */
  static async open(endpoint: string, { tls, user, clock }: EtcdAccess): Promise<EtcdConnection> {
    const connection = new EtcdConnection(endpoint, await channelCredentials(tls), clock);
    try {
      if (user) await connection.#logIn(user);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Called when the member is usable. From then on, the loss of the connection is reported immediately. */
  ready(): void {
    this.#timeoutMs = callTimeoutMs;
    // The library would reconnect by itself, and the member may then have another history. So the connection counts as
    // lost instead.
    const channel = this.#client.getChannel();
    if (channel.getConnectivityState(false) !== connectivityState.READY) return this.lose();
    channel.watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () => this.lose());
  }

  call<Method extends keyof Methods>(method: Method, request: Methods[Method][0]): Promise<Methods[Method][1]> {
    const { path, encode, decode } = codecs[method];
    if (this.#isLost) return Promise.reject(new EtcdError(status.UNAVAILABLE, 'the connection was lost'));
    const callOptions = { deadline: this.#clock.now() + this.#timeoutMs };
    return new Promise<Methods[Method][1]>((resolve, reject) => {
      const finish = (error: ServiceError | null, response: Methods[Method][1] | undefined): void => {
        this.#ended(running);
        if (error) reject(this.#failed(fromCall(error)));
        else if (response === undefined) reject(new EtcdError(status.INTERNAL, 'the member sent no response'));
        else resolve(response);
      };
      const running = this.#client.makeUnaryRequest(path, encode, decode, request, this.#metadata, callOptions, finish);
      this.#running.add(running);
    });
  }

  /**
   * Opens a stream in both directions. The caller must handle its errors and cancel it; {@link destroy} cancels it as
   * well. Without `timeoutMs`, the stream has no timeout.
   */
  stream<Method extends keyof Streams>(
    method: Method,
    timeoutMs: number = Number.POSITIVE_INFINITY,
  ): ClientDuplexStream<Streams[Method][0], Streams[Method][1]> {
    const { path, encode, decode } = codecs[method];
    const deadline = this.#clock.now() + timeoutMs;
    const stream = this.#client.makeBidiStreamRequest(path, encode, decode, this.#metadata, { deadline });
    this.#streams.add(stream);
    stream.on('status', () => this.#streams.delete(stream));
    return stream;
  }

  onEnd(listen: () => void): void {
    this.#endListeners.push(listen);
  }

  async end(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    this.destroy();
  }

  destroy(): void {
    this.#isLost = true;
    // The library closes a connection only when its last call has ended, so all calls are cancelled.
    for (const call of [...this.#running, ...this.#streams]) call.cancel();
    this.#client.close();
  }

  async #logIn({ name, password }: EtcdUser): Promise<void> {
    try {
      const { token } = await this.call('Auth/Authenticate', { name, password });
      this.#metadata.set('token', token);
    } catch (error) {
      // In a cluster without authentication, every user may do everything, so the login is not needed.
      if (!(error instanceof EtcdError) || !error.message.includes('authentication is not enabled')) throw error;
    }
  }

  #ended(call: ClientUnaryCall): void {
    this.#running.delete(call);
    if (this.#running.size === 0) this.#onIdle?.();
  }

  #failed(error: EtcdError): EtcdError {
    if (isLostConnection(error)) this.lose();
    return error;
  }

  /**
   * Reports the loss of the connection to the listeners. Each request that fails with the connection causes a call of
   * this method, but only the first of these calls has an effect.
   */
  lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    for (const listen of this.#endListeners) listen();
  }
}

async function channelCredentials(tls: EtcdTlsFiles | undefined): Promise<ChannelCredentials> {
  if (!tls) return credentials.createInsecure();
  const [ca, key, cert] = await Promise.all([
    pem('ca', tls.ca),
    pem('key', tls.client?.key),
    pem('cert', tls.client?.cert),
  ]);
  try {
    return credentials.createSsl(ca, key, cert);
  } catch (cause) {
    throw new StoreError('refused', 'the files of ca, cert and key in the URL are not PEM files that belong together', {
      cause,
    });
  }
}

async function pem(parameter: string, file: string | undefined): Promise<Buffer | null> {
  if (file === undefined) return null;
  try {
    return await readFile(file);
  } catch (cause) {
    const { message } = cause instanceof Error ? cause : new Error(String(cause));
    throw new StoreError('refused', `the file of ${parameter} in the URL cannot be read: ${message}`, { cause });
  }
}
