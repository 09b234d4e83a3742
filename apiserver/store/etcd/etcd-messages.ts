import protobuf from 'protobufjs';

/**
 * The part of etcd's API that the store uses: https://etcd.io/docs/v3.4/dev-guide/api_reference_v3. Fields that the
 * store does not read are left out, because a decoder skips them.
 */
const proto = `
syntax = "proto3";
package etcdserverpb;

message ResponseHeader { uint64 cluster_id = 1; int64 revision = 3; }
message KeyValue { bytes key = 1; bytes value = 5; }

message RangeRequest {
  bytes key = 1; bytes range_end = 2; int64 limit = 3; int64 revision = 4; bool serializable = 7; bool keys_only = 8;
}
message RangeResponse { ResponseHeader header = 1; repeated KeyValue kvs = 2; bool more = 3; }
message PutRequest { bytes key = 1; bytes value = 2; int64 lease = 3; bool ignore_value = 5; }
message DeleteRangeRequest { bytes key = 1; bytes range_end = 2; }

message RequestOp {
  oneof request {
    RangeRequest request_range = 1; PutRequest request_put = 2; DeleteRangeRequest request_delete_range = 3;
    TxnRequest request_txn = 4;
  }
}
message ResponseOp { oneof response { RangeResponse response_range = 1; TxnResponse response_txn = 4; } }
message Compare {
  int32 result = 1; int32 target = 2; bytes key = 3;
  oneof target_union { int64 version = 4; bytes value = 7; }
  bytes range_end = 64;
}
message TxnRequest { repeated Compare compare = 1; repeated RequestOp success = 2; repeated RequestOp failure = 3; }
message TxnResponse { ResponseHeader header = 1; bool succeeded = 2; repeated ResponseOp responses = 3; }
message CompactionRequest { int64 revision = 1; }
message CompactionResponse { ResponseHeader header = 1; }

message WatchCreateRequest { bytes key = 1; }
message WatchRequest { oneof request_union { WatchCreateRequest create_request = 1; } }
message Event { KeyValue kv = 2; }
message WatchResponse {
  ResponseHeader header = 1; bool created = 3; bool canceled = 4; string cancel_reason = 6; repeated Event events = 11;
}

message LeaseGrantRequest { int64 TTL = 1; int64 ID = 2; }
message LeaseGrantResponse { ResponseHeader header = 1; int64 TTL = 3; string error = 4; }
message LeaseRevokeRequest { int64 ID = 1; }
message LeaseRevokeResponse { ResponseHeader header = 1; }
message LeaseKeepAliveRequest { int64 ID = 1; }
message LeaseKeepAliveResponse { ResponseHeader header = 1; int64 TTL = 3; }

message StatusRequest {}
message StatusResponse { ResponseHeader header = 1; string version = 2; uint64 raftAppliedIndex = 7; }
message AuthenticateRequest { string name = 1; string password = 2; }
message AuthenticateResponse { ResponseHeader header = 1; string token = 2; }
`;

interface Header {
  /** An unsigned integer of 64 bits. */
  readonly cluster_id: Integer;
  readonly revision: Integer;
}

/** An integer of 64 bits, in the form in which the codec returns it. */
export type Integer = number | { toString(): string; toNumber(): number };

export interface KeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
}

interface RangeRequest {
  readonly key: Buffer;
  readonly range_end?: Buffer;
  readonly limit?: number;
  readonly revision?: Integer;
  readonly serializable?: boolean;
  readonly keys_only?: boolean;
}

export interface RangeResponse {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
}

interface PutRequest {
  readonly key: Buffer;
  readonly value?: Uint8Array;
  readonly lease?: number;
  readonly ignore_value?: boolean;
}

export type RequestOp =
  | { readonly request_range: RangeRequest }
  | { readonly request_put: PutRequest }
  | { readonly request_delete_range: Pick<RangeRequest, 'key' | 'range_end'> }
  | { readonly request_txn: TxnRequest };

export interface ResponseOp {
  readonly response_range?: RangeResponse | null;
  readonly response_txn?: TxnResponse | null;
}

/** The condition of a transaction. `result`: 0 equal, 1 greater, 2 less, 3 not equal. `target`: 0 version, 3 value. */
export interface Compare {
  readonly result: 0 | 1;
  readonly target: 0 | 3;
  readonly key: Buffer;
  readonly version?: number;
  readonly value?: Uint8Array;
  readonly range_end?: Buffer;
}

interface TxnRequest {
  readonly compare?: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure?: readonly RequestOp[];
}

export interface TxnResponse {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export interface WatchResponse {
  readonly header: Header;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly cancel_reason: string;
  readonly events: readonly { readonly kv: KeyValue }[];
}

/** The requests and responses of each method, by `<service>/<method>`. */
export interface Methods {
  readonly 'KV/Range': [RangeRequest, RangeResponse];
  readonly 'KV/Txn': [TxnRequest, TxnResponse];
  readonly 'KV/Compact': [{ readonly revision: Integer }, object];
  readonly 'Lease/LeaseGrant': [{ readonly TTL: number; readonly ID: number }, { readonly error: string }];
  readonly 'Lease/LeaseRevoke': [{ readonly ID: number }, object];
  readonly 'Maintenance/Status': [object, { readonly version: string; readonly raftAppliedIndex: Integer }];
  readonly 'Auth/Authenticate': [{ readonly name: string; readonly password: string }, { readonly token: string }];
}

/** The requests and responses of the methods that stream in both directions. */
export interface Streams {
  readonly 'Watch/Watch': [{ readonly create_request: { readonly key: Buffer } }, WatchResponse];
  readonly 'Lease/LeaseKeepAlive': [{ readonly ID: number }, { readonly TTL: Integer }];
}

const names: Readonly<Record<keyof Methods | keyof Streams, string>> = {
  'KV/Range': 'Range',
  'KV/Txn': 'Txn',
  'KV/Compact': 'Compaction',
  'Lease/LeaseGrant': 'LeaseGrant',
  'Lease/LeaseRevoke': 'LeaseRevoke',
  'Lease/LeaseKeepAlive': 'LeaseKeepAlive',
  'Maintenance/Status': 'Status',
  'Auth/Authenticate': 'Authenticate',
  'Watch/Watch': 'Watch',
};

const { root } = protobuf.parse(proto, { keepCase: true });

export interface Codec<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (bytes: Buffer) => Response;
}

type All = Methods & Streams;

export function codecOf<Method extends keyof All>(method: Method): Codec<All[Method][0], All[Method][1]> {
  const request = root.lookupType(`etcdserverpb.${names[method]}Request`);
  const response = root.lookupType(`etcdserverpb.${names[method]}Response`);
  return {
    path: `/etcdserverpb.${method}`,
    encode: (message) => {
      const bytes = request.encode(message).finish();
      return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
    },
    // The message has all fields of the proto above; absent ones have their defaults.
    decode: (bytes) => response.decode(bytes),
  };
}
