import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '@homeostat/controller-runtime/api';
import type { ConnectionAuthenticator } from '../authenticator.ts';
import { authenticated, isVisibleName } from '../user-info.ts';
import type { UserInfo } from '../user-info.ts';

/** The user of a connection's certificate. */
interface Holder {
  readonly user: UserInfo | undefined;
  readonly expiresMs: number;
}

/**
 * Finds users by the certificate of their connection, which TLS has verified. The common name is the name of the user,
 * and each organization is a group. The certificate is read once for each connection; at each request, its expiry is
 * checked.
 */
export class ClientCertificates implements ConnectionAuthenticator {
  readonly #clock: Clock;
  readonly #holders = new WeakMap<Socket, Holder>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ofRequest({ socket }: IncomingMessage): UserInfo | undefined {
    if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
    let holder = this.#holders.get(socket);
    if (holder === undefined) {
      holder = holderOf(socket, this.#clock);
      this.#holders.set(socket, holder);
    }
    return holder.expiresMs > this.#clock.now() ? holder.user : undefined;
  }

  hasCredential({ socket }: IncomingMessage): boolean {
    return socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined;
  }
}

function holderOf(socket: TLSSocket, clock: Clock): Holder {
  const { subject, valid_to: end } = socket.getPeerCertificate();
  const [username, ...others] = textsOf(subject?.CN);
  const groups = textsOf(subject?.O);
  const isUser = username !== undefined && others.length === 0 && [username, ...groups].every(isVisibleName);
  const expiresMs = Date.parse(end);
  const isValid = (): boolean => expiresMs > clock.now();
  return { user: isUser ? { ...authenticated({ username, groups }), isValid } : undefined, expiresMs };
}

/** Returns the values of a field of the subject. Node's types declare a single value, but there may be several. */
function textsOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
