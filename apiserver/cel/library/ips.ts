import { overload } from '../types/declare-function.ts';
import type { CelFunction, Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { CelObject } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import type { Comparable } from '../values/equals.ts';
import { objectAt, textAt } from './arguments.ts';
import { formatIp, masked, parseIp, sharePrefix } from './ip-address.ts';
import type { IpBytes } from './ip-address.ts';

class CelIp extends CelObject implements Comparable {
  readonly typeName = 'net.IP';
  readonly bytes: IpBytes;

  constructor(bytes: IpBytes) {
    super();
    this.bytes = bytes;
  }

  get identity(): string {
    return formatIp(this.bytes);
  }
}

class CelCidr extends CelObject implements Comparable {
  readonly typeName = 'net.CIDR';
  readonly bytes: IpBytes;
  readonly bits: number;

  constructor(bytes: IpBytes, bits: number) {
    super();
    this.bytes = bytes;
    this.bits = bits;
  }

  get text(): string {
    return `${formatIp(this.bytes)}/${this.bits}`;
  }

  get identity(): string {
    return this.text;
  }
}

/**
 * The cost to parse an address or a block of addresses, in addition to the cost of its characters. A test of an
 * address, such as `isLoopback`, costs a third of this constant.
 */
const parseCost = 60;

/** Returns the functions for IP addresses and for blocks of addresses (CIDR). */
export function ipOverloads(): readonly Overload[] {
  const check =
    (test: (bytes: IpBytes) => boolean): CelFunction =>
    (args, meter) => {
      meter.add(parseCost / 3);
      return test(objectAt(CelIp, args, 0).bytes);
    };
  return [
    overload('ip(string) net.IP', (args, meter) => readIp(textAt(args, 0), meter)),
    overload('isIP(string) bool', (args, meter) => {
      meter.add(parseCost);
      return parseIp(textAt(args, 0)) !== undefined;
    }),
    overload(
      'ip.isCanonical(string) bool',
      (args, meter) => formatIp(readIp(textAt(args, 0), meter).bytes) === textAt(args, 0),
    ),
    overload('string(net.IP) string', (args) => formatIp(objectAt(CelIp, args, 0).bytes)),
    overload('net.IP::family() int', (args) => (objectAt(CelIp, args, 0).bytes.length === 4 ? 4n : 6n)),
    overload('net.IP::isUnspecified() bool', check(isUnspecified)),
    overload('net.IP::isLoopback() bool', check(isLoopback)),
    overload('net.IP::isLinkLocalMulticast() bool', check(isLinkLocalMulticast)),
    overload('net.IP::isLinkLocalUnicast() bool', check(isLinkLocalUnicast)),
    overload('net.IP::isGlobalUnicast() bool', check(isGlobalUnicast)),
    ...cidrOverloads(),
  ];
}

function cidrOverloads(): readonly Overload[] {
  const cidrAt = (args: readonly CelValue[], index: number): CelCidr => objectAt(CelCidr, args, index);
  return [
    overload('cidr(string) net.CIDR', (args, meter) => readCidr(textAt(args, 0), meter)),
    overload('isCIDR(string) bool', (args, meter) => {
      meter.add(parseCost);
      return parseCidr(textAt(args, 0)) !== undefined;
    }),
    overload('string(net.CIDR) string', (args) => cidrAt(args, 0).text),
    overload('net.CIDR::ip() net.IP', (args) => new CelIp(cidrAt(args, 0).bytes)),
    overload('net.CIDR::prefixLength() int', (args) => BigInt(cidrAt(args, 0).bits)),
    overload('net.CIDR::masked() net.CIDR', (args) => {
      const { bytes, bits } = cidrAt(args, 0);
      return new CelCidr(masked(bytes, bits), bits);
    }),
    overload('net.CIDR::containsIP(string) bool', (args, meter) =>
      hasIp(cidrAt(args, 0), readIp(textAt(args, 1), meter)),
    ),
    overload('net.CIDR::containsIP(net.IP) bool', (args) => hasIp(cidrAt(args, 0), objectAt(CelIp, args, 1))),
    overload('net.CIDR::containsCIDR(string) bool', (args, meter) =>
      hasCidr(cidrAt(args, 0), readCidr(textAt(args, 1), meter)),
    ),
    overload('net.CIDR::containsCIDR(net.CIDR) bool', (args) => hasCidr(cidrAt(args, 0), cidrAt(args, 1))),
  ];
}

function hasIp({ bytes, bits }: CelCidr, ip: CelIp): boolean {
  return sharePrefix(bytes, ip.bytes, bits);
}

function hasCidr(outer: CelCidr, inner: CelCidr): boolean {
  return outer.bits <= inner.bits && sharePrefix(outer.bytes, inner.bytes, outer.bits);
}

function readIp(text: string, meter: CostMeter): CelIp {
  meter.add(parseCost);
  const bytes = parseIp(text);
  if (bytes === undefined)
    throw new CelError(
      `IP Address '${text.slice(0, 64)}' parse error during conversion from string: unable to parse IP`,
    );
  return new CelIp(bytes);
}

function readCidr(text: string, meter: CostMeter): CelCidr {
  meter.add(parseCost);
  const cidr = parseCidr(text);
  if (cidr === undefined)
    throw new CelError(
      `network address parse error during conversion from string: netip.ParsePrefix("${text.slice(0, 64)}")`,
    );
  return cidr;
}

function parseCidr(text: string): CelCidr | undefined {
  const match = text.length > 64 ? null : /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  const bytes = parseIp(match?.[1] ?? '');
  const bits = Number(match?.[2]);
  return bytes === undefined || bits > bytes.length * 8 ? undefined : new CelCidr(bytes, bits);
}

function isUnspecified(bytes: IpBytes): boolean {
  return bytes.every((byte) => byte === 0);
}

function isLoopback(bytes: IpBytes): boolean {
  return bytes.length === 4 ? bytes[0] === 127 : formatIp(bytes) === '::1';
}

function isLinkLocalMulticast(bytes: IpBytes): boolean {
  if (bytes.length === 4) return bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0;
  return bytes[0] === 0xff && ((bytes[1] ?? 0) & 0x0f) === 0x02;
}

function isLinkLocalUnicast(bytes: IpBytes): boolean {
  if (bytes.length === 4) return bytes[0] === 169 && bytes[1] === 254;
  return bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80;
}

function isGlobalUnicast(bytes: IpBytes): boolean {
  const isMulticast = bytes.length === 4 ? ((bytes[0] ?? 0) & 0xf0) === 0xe0 : bytes[0] === 0xff;
  const isBroadcast = bytes.length === 4 && bytes.every((byte) => byte === 255);
  return !isMulticast && !isBroadcast && !isUnspecified(bytes) && !isLoopback(bytes) && !isLinkLocalUnicast(bytes);
}
