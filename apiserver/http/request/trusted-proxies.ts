import { BlockList, isIP } from 'node:net';
import type { Socket } from 'node:net';

/** What is wrong with an address or network of a proxy: `10.1.2.3`, `10.0.0.0/8` or `fd00::/8`. undefined: nothing. */
export function checkProxy(text: string): string | undefined {
  const { family, prefix } = parseProxy(text);
  if (family === 0) return `"${text}" is not an IP address or network, such as 10.1.2.3 or 10.0.0.0/8`;
  const most = family === 4 ? 32 : 128;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= most)
    ? undefined
    : `"${text}" needs a prefix from 0 to ${most}`;
}

function parseProxy(text: string): { address: string; family: number; prefix: string | undefined } {
  const slash = text.indexOf('/');
  const address = slash === -1 ? text : text.slice(0, slash);
  return { address, family: isIP(address), prefix: slash === -1 ? undefined : text.slice(slash + 1) };
}

/** What is asked of a request; koa's Context has it. Published types name no koa, whose types users need not have. */
interface Arrival {
  readonly req: { readonly socket: Socket };
  get(header: string): string;
}

/** The proxies whose word is taken for where a request came from, and by which scheme. */
export class TrustedProxies {
  readonly #addresses = new BlockList();
  readonly #isEmpty: boolean;

  /** Addresses and networks that {@link checkProxy} finds nothing wrong with. */
  constructor(proxies: readonly string[]) {
    this.#isEmpty = proxies.length === 0;
    for (const proxy of proxies) {
      const { address, family, prefix } = parseProxy(proxy);
      const type = family === 4 ? 'ipv4' : 'ipv6';
      if (prefix === undefined) this.#addresses.addAddress(address, type);
      else this.#addresses.addSubnet(address, Number(prefix), type);
    }
  }

  /** The scheme that the client spoke. */
  schemeOf(context: Arrival): 'http' | 'https' {
    const { socket } = context.req;
    if (!this.#isEmpty && this.#has(socket.remoteAddress)) {
      const told = lastOf(context.get('X-Forwarded-Proto')).toLowerCase();
      if (told === 'http' || told === 'https') return told;
    }
    return 'encrypted' in socket ? 'https' : 'http';
  }

  /** The address of the client: of `X-Forwarded-For` the last that is not a trusted proxy itself. */
  addressOf(context: Arrival): string {
    const { remoteAddress = '' } = context.req.socket;
    if (this.#isEmpty || !this.#has(remoteAddress)) return remoteAddress;
    const hops = context.get('X-Forwarded-For').split(',');
    let address = remoteAddress;
    for (const hop of hops.reverse()) {
      const named = hop.trim();
      if (isIP(named) === 0) return address;
      address = named;
      if (!this.#has(named)) return address;
    }
    return address;
  }

  #has(address: string | undefined): boolean {
    if (address === undefined) return false;
    return this.#addresses.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Each proxy appends what it knows; the last value is that of the proxy that is trusted. */
function lastOf(header: string): string {
  return header.slice(header.lastIndexOf(',') + 1).trim();
}
