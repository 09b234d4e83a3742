/** The bytes of an address: 4 for IPv4, 16 for IPv6. */
export type IpBytes = Uint8Array;

/**
 * Parses an address. Returns undefined for an invalid text. As in Kubernetes, these are invalid: an address with a
 * zone, an IPv4-mapped IPv6 address, and an IPv4 address with leading zeros.
 */
export function parseIp(text: string): IpBytes | undefined {
  if (text.length > 45) return undefined;
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): IpBytes | undefined {
  const parts = text.split('.');
  const isAddress =
    parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
  return isAddress ? Uint8Array.from(parts, Number) : undefined;
}

function parseIpv6(text: string): IpBytes | undefined {
  const halves = withHexEnding(text).split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const groups = [...head, ...tail];
  const isShort = halves.length === 2;
  if (groups.some((group) => !/^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  if (isShort ? groups.length > 7 : groups.length !== 8) return undefined;
  const zeros = Array.from({ length: 8 - groups.length }, () => '0');
  const bytes = [...head, ...zeros, ...tail].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
  // An IPv6 address in ::ffff:0:0/96 stands for an IPv4 address. Kubernetes refuses it, and so does this parser.
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return isMapped ? undefined : Uint8Array.from(bytes);
}

/**
 * If an IPv6 address ends with an IPv4 address, returns it with two groups of hex digits at its end: `::102:304` for
 * `::1.2.3.4`. Returns any other text unchanged.
 */
function withHexEnding(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const ending = parseIpv4(text.slice(start));
  if (ending === undefined) return text;
  const [a = 0, b = 0, c = 0, d = 0] = ending;
  return `${text.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/**
 * Prints the canonical form of an address. IPv6 is in lower case, with `::` for the longest sequence of two or more
 * groups that are zero.
 */
export function formatIp(bytes: IpBytes): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0));
  const { start, length } = longestZeros(groups);
  const hex = groups.map((group) => group.toString(16));
  if (length < 2) return hex.join(':');
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}

function longestZeros(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start += 1) {
    let length = 0;
    while (groups[start + length] === 0) length += 1;
    if (length > best.length) best = { start, length };
  }
  return best;
}

/** True when two addresses are of one family and have the same first `bits` bits. */
export function sharePrefix(first: IpBytes, second: IpBytes, bits: number): boolean {
  if (first.length !== second.length) return false;
  return masked(first, bits).every((byte, index) => byte === masked(second, bits)[index]);
}

/** Returns the address with all bits after the prefix set to zero. */
export function masked(bytes: IpBytes, bits: number): IpBytes {
  return bytes.map((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - index * 8));
    return byte & (0xff << (8 - kept)) & 0xff;
  });
}
