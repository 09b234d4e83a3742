import { promisify } from 'node:util';
import {
  Client,
  credentials,
  type handleBidiStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';

import { codecOf, type Methods, type Streams } from './etcd-messages.ts';

const calls: readonly (keyof Methods)[] = [
  'KV/Range',
  'KV/Txn',
  'KV/Compact',
  'Lease/LeaseGrant',
  'Lease/LeaseRevoke',
  'Maintenance/Status',
];
const streams: readonly (keyof Streams)[] = ['Watch/Watch', 'Lease/LeaseKeepAlive'];

const unchanged = (bytes: Buffer): Buffer => bytes;

/** Sends the request to the member, and resolves with the member's response. */
export type Forward = () => Promise<Buffer>;

/**
 * A gRPC server in front of a member of the cluster. It can respond to a request instead of the member. It passes on
 * streams unchanged.
 */
export class CallProxy {
  /** Called with each request outside of a stream. Resolves with the response, or rejects with a ServiceError. */
  respond: (request: Buffer, forward: Forward, method: keyof Methods) => Promise<Buffer> = (_, forward) => forward();
  readonly #server = new Server();
  readonly #member: Client;
  #port = 0;

  private constructor(member: string) {
    this.#member = new Client(member, credentials.createInsecure());
  }

  static async start(member: string): Promise<CallProxy> {
    const proxy = new CallProxy(member);
    const handlers: UntypedServiceImplementation = {};
    for (const method of calls) handlers[method] = proxy.#call(method);
    for (const method of streams) handlers[method] = proxy.#stream(method);
    proxy.#server.addService(serviceOf([...calls, ...streams]), handlers);
    const bind = promisify(proxy.#server.bindAsync.bind(proxy.#server));
    proxy.#port = await bind('127.0.0.1:0', ServerCredentials.createInsecure());
    return proxy;
  }

  get endpoint(): string {
    return `127.0.0.1:${this.#port}`;
  }

  close(): void {
    this.#server.forceShutdown();
    this.#member.close();
  }

  #call(method: keyof Methods): handleUnaryCall<Buffer, Buffer> {
    const { path } = codecOf(method);
    const member = this.#member;
    return ({ request }, finish) => {
      const forward: Forward = () =>
        new Promise((resolve, reject) => {
          member.makeUnaryRequest(path, unchanged, unchanged, request, (error, response) => {
            if (response) resolve(response);
            else reject(error ?? new Error('the member sent no response'));
          });
        });
      this.respond(request, forward, method).then((response) => finish(null, response), finish);
    };
  }

  #stream(method: keyof Streams): handleBidiStreamingCall<Buffer, Buffer> {
    const { path } = codecOf(method);
    return (client) => {
      const member = this.#member.makeBidiStreamRequest(path, unchanged, unchanged);
      client.on('data', (request: Buffer) => member.write(request));
      member.on('data', (response: Buffer) => client.write(response));
      client.on('end', () => member.end());
      client.on('cancelled', () => member.cancel());
      member.on('end', () => client.end());
      member.on('error', () => client.end());
    };
  }
}

/**
 * Returns the error of a member whose quota is used up. A member sends this error both for a request that it has
 * executed and for one that it refuses.
 */
export function overQuota(): Error {
  const details = 'etcdserver: mvcc: database space exceeded';
  return Object.assign(new Error(details), { code: status.RESOURCE_EXHAUSTED, details });
}

/** Returns the definition of a service that passes on the bytes of messages unchanged. */
function serviceOf(methods: readonly (keyof Methods | keyof Streams)[]): Parameters<Server['addService']>[0] {
  const bytes = {
    requestSerialize: unchanged,
    requestDeserialize: unchanged,
    responseSerialize: unchanged,
    responseDeserialize: unchanged,
  };
  return Object.fromEntries(
    methods.map((method) => {
      const isStream = streams.some((each) => each === method);
      return [method, { path: codecOf(method).path, requestStream: isStream, responseStream: isStream, ...bytes }];
    }),
  );
}
