import { type ServiceError, status } from '@grpc/grpc-js';

import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** A failed call. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';
  /** The status code of gRPC. */
  readonly status: status;

  constructor(code: status, message: string) {
    super(message);
    this.status = code;
  }
}

/** The statuses after which a request may have been executed, or may be executed later. */
const lost: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.INTERNAL,
  status.UNAVAILABLE,
]);

const codes: Partial<Record<status, StoreErrorCode>> = {
  [status.PERMISSION_DENIED]: 'readOnly',
  [status.RESOURCE_EXHAUSTED]: 'io',
};

/**
 * Returns true when it is not known whether the request was executed, so that the caller must look up the outcome on
 * another connection.
 */
export function isLostConnection(error: unknown): boolean {
  return error instanceof EtcdError && lost.has(error.status);
}

/**
 * Returns true when etcd has refused the token, because it has expired or is older than a change of the users. The
 * request was not executed.
 */
export function isExpiredToken(error: unknown): boolean {
  if (!(error instanceof EtcdError)) return false;
  return error.status === status.UNAUTHENTICATED || error.message.includes('revision of auth store is old');
}

/**
 * Returns true when the quota of the database is used up. The request was either refused, or it was executed and
 * exceeded the quota.
 */
export function isOverQuota(error: unknown): boolean {
  return error instanceof EtcdError && error.message.includes('database space exceeded');
}

/** Returns true when the requested revision is compacted. */
export function isCompacted(error: unknown): boolean {
  return error instanceof EtcdError && error.status === status.OUT_OF_RANGE;
}

/**
 * Returns a StoreError unchanged. For any other failure, returns a StoreError whose message starts with `doing`, and
 * contains neither a password nor data.
 */
export function storeErrorFrom(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const { message } = error instanceof Error ? error : new Error(String(error));
  const text = `${doing}: ${message}`;
  return new StoreError(codeOf(error), `${text}${cureOf(text)}`, { cause: error });
}

/**
 * Returns an error with the status and the message of the library's error. If a connection failed, the message is only
 * the reason.
 */
export function fromCall({ code, details }: ServiceError): EtcdError {
  const reason = /^No connection established\. Last error: (.*?)\s*(\(\d{4}-[^)]*\))?\. Resolution note: /s.exec(
    details,
  )?.[1];
  return new EtcdError(code, reason ?? details);
}

function codeOf(error: unknown): StoreErrorCode {
  if (!(error instanceof EtcdError)) return 'refused';
  if (isOverQuota(error)) return 'full';
  if ([badCertificate, unknownAuthority, otherName].some((each) => each.test(error.message))) return 'refused';
  return lost.has(error.status) || isExpiredToken(error) ? 'io' : (codes[error.status] ?? 'refused');
}

const unknownAuthority = /self.signed certificate|unable to (verify|get)/i;
const otherName = /does not match certificate's altnames/i;
const badCertificate = /bad certificate|certificate required/i;

const cures: readonly (readonly [part: RegExp, cure: string])[] = [
  [/user name is empty/, ': the cluster requires a user; set ETCDCTL_USER and ETCDCTL_PASSWORD'],
  [/authentication failed, invalid user/, ': check ETCDCTL_USER and ETCDCTL_PASSWORD'],
  [
    /permission denied/,
    ': the user needs read and write permission for all keys below the prefix (etcdctl role grant-permission <role> --prefix=true readwrite <prefix>/)',
  ],
  [/database space exceeded/, ': compact and defragment the members, then run etcdctl alarm disarm'],
  [/no leader|request timed out/, ': a majority of the members must run and reach each other'],
  [
    /wrong version number|packet length too long|before secure TLS/i,
    ': the member does not use TLS; leave ca, cert, key and tls out of the URL',
  ],
  [
    unknownAuthority,
    ": the member's certificate is from an authority that is not known; name the file of the authority with ?ca=",
  ],
  [otherName, ": the member's certificate has another name; use a name of the certificate in the URL"],
  [badCertificate, ': the cluster requires a client certificate; name it with ?cert=…&key=…'],
  [/[Pp]rotocol error/, ': something other than etcd responds; check host and port'],
  [
    /with TLS: .*(ECONNRESET|hang up|[Cc]onnection dropped|Failed to connect$)/,
    ': if the member does not use TLS, leave ca, cert, key and tls out of the URL',
  ],
  [
    /ECONNRESET|hang up|[Cc]onnection dropped|: Failed to connect$/,
    ': if the member uses TLS, name the file of its certificate authority with ?ca=',
  ],
];

function cureOf(text: string): string {
  return cures.find(([part]) => part.test(text))?.[1] ?? '';
}
