import { BlockList, isIP } from 'node:net';
import type { Socket } from 'node:net';

/**
 * Checks the address or network of a proxy, such as `10.1.2.3`, `10.0.0.0/8` or `fd00::/8`. Returns the problem;
 * undefined when it is valid.
 */
export function checkProxy(text: string): string | undefined {
  const { family, prefix } = parseProxy(text);
  if (family === 0) return `"${text}" is not an IP address or network, such as 10.1.2.3 or 10.0.0.0/8`;
  const most = family === 4 ? 32 : 128;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= most)
    ? undefined
    : `"${text}" needs a prefix length from 0 to ${most}`;
}

function parseProxy(text: string): { address: string; family: number; prefix: string | undefined } {
  const slash = text.indexOf('/');
  const address = slash === -1 ? text : text.slice(0, slash);
  return { address, family: isIP(address), prefix: slash === -1 ? undefined : text.slice(slash + 1) };
}

/**
 * The parts of a request that {@link TrustedProxies} uses; koa's Context has them. Published types do not refer to koa,
 * because users need not have its types.
 */
interface Arrival {
  readonly req: { readonly socket: Socket };
  get(header: string): string;
}

/** The proxies that are trusted to report a client's address and scheme. */
export class TrustedProxies {
  readonly #addresses = new BlockList();
  readonly #isEmpty: boolean;

  /** Creates the set of proxies from addresses and networks that {@link checkProxy} accepts. */
  constructor(proxies: readonly string[]) {
    this.#isEmpty = proxies.length === 0;
    for (const proxy of proxies) {
      const { address, family, prefix } = parseProxy(proxy);
      const type = family === 4 ? 'ipv4' : 'ipv6';
      if (prefix === undefined) this.#addresses.addAddress(address, type);
      else this.#addresses.addSubnet(address, Number(prefix), type);
    }
  }

  /** Returns the scheme that the client used. */
  schemeOf(context: Arrival): 'http' | 'https' {
    const { socket } = context.req;
    if (!this.#isEmpty && this.has(socket.remoteAddress)) {
      const told = lastOf(context.get('X-Forwarded-Proto')).toLowerCase();
      if (told === 'http' || told === 'https') return told;
    }
    return 'encrypted' in socket ? 'https' : 'http';
  }

  /**
   * Returns the client's address. If the connection comes from a trusted proxy, reads `X-Forwarded-For` from right to
   * left, and returns the first address that is not a trusted proxy. If the header ends or has an invalid address
   * before that, returns the last address that was read. In all other cases, returns the address of the connection.
   */
  addressOf(context: Arrival): string {
    const { remoteAddress = '' } = context.req.socket;
    if (this.#isEmpty || !this.has(remoteAddress)) return remoteAddress;
    const hops = context.get('X-Forwarded-For').split(',');
    let address = remoteAddress;
    for (const hop of hops.reverse()) {
      const named = hop.trim();
      if (isIP(named) === 0) return address;
      address = named;
      if (!this.has(named)) return address;
    }
    return address;
  }

  /** Returns true for the address of a trusted proxy. */
  has(address: string | undefined): boolean {
    if (address === undefined || this.#isEmpty) return false;
    return this.#addresses.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
}

/**
 * Returns the last value of a header. Each proxy appends its own value, so the last one comes from the trusted proxy.
 */
function lastOf(header: string): string {
  return header.slice(header.lastIndexOf(',') + 1).trim();
}
