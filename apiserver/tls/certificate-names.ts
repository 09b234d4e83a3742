import { isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** What the loopback interface is called, always. */
const loopback = ['localhost', '127.0.0.1', '::1'] as const;

/** All addresses of a machine: a place to listen at, and nobody's address. */
const unspecified = new Set(['0.0.0.0', '::']);

const dnsName = /^(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?)*$/;

/**
 * What a certificate has to be valid for: the names and addresses that the server answers to. In one form each, once.
 * Throws TypeError for what is neither.
 */
export function certificateNames(given: readonly string[]): readonly string[] {
  const names = [...loopback, ...given].map(normalise).filter((name) => !unspecified.has(name));
  return [...new Set(names)];
}

/** The same of a certificate, as node tells it: `DNS:localhost, IP Address:127.0.0.1`. */
export function namesOfCertificate(subjectAltName: string | undefined): readonly string[] {
  const entries = subjectAltName?.split(', ') ?? [];
  return entries.map((entry) => normalise(entry.replace(/^(DNS|IP Address):/, '')));
}

function normalise(name: string): string {
  // As in a URL, and without the interface that only this machine knows.
  const bare = name.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (isIPv6(bare)) return new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  if (isIP(bare) !== 0) return bare;
  const ascii = domainToASCII(bare).toLowerCase();
  if (!dnsName.test(ascii)) throw new TypeError(`"${name}" is neither a host name nor an address`);
  return ascii;
}
