import { ApiError } from '@homeostat/controller-runtime/api';
import { LRUCache } from 'lru-cache';

/** What the server can write. `problem` is JSON for objects and RFC 9457 for errors, `sse` is for watches. */
export type Format = 'json' | 'yaml' | 'problem' | 'sse';

const formats: Readonly<Record<string, Format>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/yaml': 'yaml',
  'application/problem+json': 'problem',
  'text/event-stream': 'sse',
};

const maxAcceptLength = 1024;

// Clients send the same few headers again and again.
const known = new LRUCache<string, { readonly found: readonly Format[] }>({ max: 128 });

/** The first format that both sides know, by quality, then by the client's order. 406 when there is none. */
export function negotiate(header: string | undefined, offered: readonly Format[]): Format {
  if (header === undefined || header === '' || header === '*/*' || header === 'application/json') return 'json';
  const format = acceptedFormats(header).find((candidate) => offered.includes(candidate));
  if (format !== undefined) return format;
  throw new ApiError('NotAcceptable', `only the following media types are accepted: ${mediaTypes(offered)}`);
}

/** True when errors shall be written as RFC 9457. */
export function wantsProblem(header: string | undefined): boolean {
  return (
    header !== undefined && header.includes('application/problem+json') && acceptedFormats(header).includes('problem')
  );
}

function acceptedFormats(header: string): readonly Format[] {
  const cached = known.get(header);
  if (cached !== undefined) return cached.found;
  const found = header.length > maxAcceptLength ? [] : parseAccept(header);
  if (header.length <= maxAcceptLength) known.set(header, { found });
  return found;
}

function parseAccept(header: string): readonly Format[] {
  return header
    .split(',')
    .map(parseRange)
    .filter((range) => range.quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .flatMap(({ format }) => (format === undefined ? [] : [format]));
}

function parseRange(text: string): { format: Format | undefined; quality: number } {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
  // `as=Table` and its like ask for another shape; the client names plain JSON after it.
  const reshaped = parameters.some((parameter) => parameter.startsWith('as='));
  return { format: reshaped ? undefined : formats[type], quality: Number.isNaN(quality) ? 0 : quality };
}

function mediaTypes(offered: readonly Format[]): string {
  return Object.entries(formats)
    .filter(([type, format]) => !type.includes('*') && format !== 'problem' && offered.includes(format))
    .map(([type]) => type)
    .join(', ');
}
