import { lookup } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { BlockList, isIP, isIPv4 } from 'node:net';

/**
 * The IPv4 networks that the server never calls: the unspecified, link-local, multicast and reserved addresses, and the
 * metadata services of clouds.
 */
const networks: readonly (readonly [address: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  // The metadata services of Alibaba Cloud, Oracle Cloud and Azure, which are not link-local.
  ['100.100.100.200', 32],
  ['192.0.0.192', 32],
  ['168.63.129.16', 32],
  ['224.0.0.0', 3],
];

/** The addresses that the server never calls. */
const blocked = new BlockList();
blocked.addAddress('::', 'ipv6');
blocked.addSubnet('fe80::', 10, 'ipv6');
blocked.addSubnet('ff00::', 8, 'ipv6');
blocked.addAddress('fd00:ec2::254', 'ipv6');
for (const [address, prefix] of networks) {
  blocked.addSubnet(address, prefix);
  // Blocks the IPv6 forms of the network, too: the forms of NAT64, SIIT and 6to4, and the old IPv4-compatible form. The
  // IPv4-compatible form of 0.0.0.0/8 is not blocked, because it contains the loopback address ::1, which the server
  // may call.
  const words = wordsOf(address);
  blocked.addSubnet(`64:ff9b::${words}`, 96 + prefix, 'ipv6');
  blocked.addSubnet(`::ffff:0:${words}`, 96 + prefix, 'ipv6');
  blocked.addSubnet(`2002:${words}::`, 16 + prefix, 'ipv6');
  if (address !== '0.0.0.0') blocked.addSubnet(`::${words}`, 96 + prefix, 'ipv6');
}

/** Returns an IPv4 address as the two words that it has in IPv6: `a9fe:0` for 169.254.0.0. */
function wordsOf(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/**
 * Returns true for an IP address that the server never calls. An IPv4 address in the notation of IPv6 counts as the
 * IPv4 address.
 */
export function isBlockedAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return blocked.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}

/** The error for an address that the server never calls. */
class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';

  constructor(host: string, address: string) {
    const what = host === address ? address : `${host} (${address})`;
    super(`${what} is a reserved, link-local or metadata address, which is never called`);
  }
}

/** @throws BlockedAddressError when the host is an IP address that the server never calls */
export function checkLiteralHost(hostname: string): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && isBlockedAddress(address)) throw new BlockedAddressError(address, address);
}

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Resolves a host name for a connection. Refuses the name when at least one of its addresses is blocked. */
export function guardedLookup(hostname: string, options: LookupOptions, found: Found): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return found(error, []);
    const bad = addresses.find(({ address }) => isBlockedAddress(address));
    if (bad !== undefined) return found(new BlockedAddressError(hostname, bad.address), []);
    if (options.all === true) return found(null, addresses);
    const [first] = addresses;
    if (first === undefined) return found(new Error(`${hostname} has no address`), []);
    found(null, first.address, first.family);
  });
}
