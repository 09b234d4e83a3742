import { lookup } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { BlockList, isIP, isIPv4 } from 'node:net';

/** The addresses that the server never calls: link-local, multicast and unspecified ones, and the metadata services of clouds. */
const blocked = new BlockList();
blocked.addSubnet('0.0.0.0', 8);
blocked.addSubnet('169.254.0.0', 16);
// The metadata services of Alibaba Cloud, Oracle Cloud and Azure, which are not link-local.
blocked.addAddress('100.100.100.200');
blocked.addAddress('192.0.0.192');
blocked.addAddress('168.63.129.16');
blocked.addSubnet('224.0.0.0', 3);
blocked.addAddress('::', 'ipv6');
blocked.addSubnet('fe80::', 10, 'ipv6');
blocked.addSubnet('ff00::', 8, 'ipv6');
blocked.addAddress('fd00:ec2::254', 'ipv6');
// IPv4 addresses in IPv6: of translators (NAT64), and the old compatible form.
blocked.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
blocked.addSubnet('::a9fe:0', 112, 'ipv6');

/** True for an IP address that is never called. An IPv4 address that is written as IPv6 counts as the IPv4 address. */
export function isBlockedAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return blocked.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}

/** The error for an address that is never called. */
class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';

  constructor(host: string, address: string) {
    const what = host === address ? address : `${host} (${address})`;
    super(`${what} is a link-local or metadata address, which is never called`);
  }
}

/** @throws BlockedAddressError for a host that is one of the addresses that are never called. */
export function checkLiteralHost(hostname: string): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && isBlockedAddress(address)) throw new BlockedAddressError(address, address);
}

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Resolves a name for a connection, and refuses it when one of its addresses is never called. */
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
