import { fastFormats, fullFormats } from 'ajv-formats/dist/formats.js';

/** Returns true when a text has the format. The time is linear in the length of the text. */
export type Format = (text: string) => boolean;

const isDate = formatOf(fullFormats.date);
const isIpv4 = formatOf(fullFormats.ipv4);
const isIpv6 = formatOf(fullFormats.ipv6);

const dateTimeForm =
  /^(\d{4}-\d\d-\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * The formats that are checked: those formats of Kubernetes that concern networks, dates, durations and UUIDs, and
 * `byte`. Every other format is ignored: for example `int32`, as in Kubernetes, and `isbn`, which Kubernetes checks.
 * The checks of ajv-formats are used if they agree with Kubernetes. Some do not: for example, the `date-time` of
 * ajv-formats accepts a blank instead of the T, its `uri` refuses an absolute path, and its `byte` accepts a text of
 * several lines of which only one is valid.
 */
export const formats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['date', isDate],
  ['date-time', isDateTime],
  ['datetime', isDateTime],
  ['duration', matcher(/^-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$|^0$|^P(?=.)(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?$/)],
  // ajv-formats has two expressions for this format. The fast one takes bounded time, and accepts hosts without a dot.
  ['email', formatOf(fastFormats.email)],
  ['hostname', formatOf(fullFormats.hostname)],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['cidr', isCidr],
  ['mac', matcher(/^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5,7}$/i)],
  ['uri', matcher(/^(?:[a-z][a-z0-9+.-]*:|\/)(?:[^\s%<>"{}|\\^`]|%[0-9a-f]{2})*$/i)],
  ['uuid', uuidOfVersion('[0-9a-f]')],
  ['uuid3', uuidOfVersion('3')],
  ['uuid4', uuidOfVersion('4')],
  ['uuid5', uuidOfVersion('5')],
  ['byte', isBase64],
]);

function isDateTime(text: string): boolean {
  const match = dateTimeForm.exec(text);
  return match?.[1] !== undefined && isDate(match[1]);
}

function isCidr(text: string): boolean {
  const match = /^([^/]*)\/(\d{1,3})$/.exec(text);
  if (match?.[1] === undefined) return false;
  const bits = Number(match[2]);
  return (bits <= 32 && isIpv4(match[1])) || (bits <= 128 && isIpv6(match[1]));
}

function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

function uuidOfVersion(digit: string): Format {
  return matcher(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${digit}[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$`, 'i'));
}

function matcher(form: RegExp): Format {
  return (text) => form.test(text);
}

function formatOf(definition: unknown): Format {
  // ajv-formats defines some formats, such as `date`, by an object: `validate` has the check.
  const isOrdered = typeof definition === 'object' && definition !== null && 'validate' in definition;
  const check = isOrdered ? definition.validate : definition;
  if (check instanceof RegExp) return matcher(check);
  if (!isFormat(check)) throw new TypeError('ajv-formats has changed the format of its definitions');
  return check;
}

function isFormat(check: unknown): check is Format {
  return typeof check === 'function';
}
