import { isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** The names of the loopback interface. Every certificate that the server issues for itself has these names. */
const loopback = ['localhost', '127.0.0.1', '::1'] as const;

/**
 * The addresses that mean all addresses of a machine. A server can listen on them. Its clients use other addresses.
 */
const unspecified = new Set(['0.0.0.0', '::']);

const dnsName = /^(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?)*$/;

/**
 * Returns the names and addresses for which a certificate must be valid, each once and in a normal form: the loopback
 * names and the given ones, without unspecified addresses. Throws TypeError for a text that is neither a name nor an
 * address.
 */
export function certificateNames(given: readonly string[]): readonly string[] {
  const names = [...loopback, ...given].map(normalise).filter((name) => !unspecified.has(name));
  return [...new Set(names)];
}

/** Returns the names in a certificate, which Node formats as `DNS:localhost, IP Address:127.0.0.1`. */
export function namesOfCertificate(subjectAltName: string | undefined): readonly string[] {
  const entries = subjectAltName?.split(', ') ?? [];
  return entries.map((entry) => normalise(entry.replace(/^(DNS|IP Address):/, '')));
}

function normalise(name: string): string {
  // Removes the brackets of an address in a URL, and the zone of an IPv6 address (`%eth0`), which names a network
  // interface of this machine only.
  const bare = name.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (isIPv6(bare)) return new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  if (isIP(bare) !== 0) return bare;
  const ascii = domainToASCII(bare).toLowerCase();
  if (!dnsName.test(ascii)) throw new TypeError(`"${name}" is neither a host name nor an address`);
  return ascii;
}
