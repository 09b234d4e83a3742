/** The maximum length of an Accept header. A longer header, which no client needs, counts as accepting no type. */
const maxHeaderLength = 1024;

/**
 * True when an Accept header accepts the media type. The most specific range in the header decides (RFC 9110, 12.5.1).
 */
export function isAccepted(header: string | undefined, type: string): boolean {
  if (header === undefined || header === '' || header === '*/*' || header === type) return true;
  if (header.length > maxHeaderLength) return false;
  const main = `${type.slice(0, type.indexOf('/'))}/*`;
  let found = { specificity: 0, quality: 0 };
  for (const range of header.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const specificity = name === type ? 3 : name === main ? 2 : name === '*/*' ? 1 : 0;
    if (specificity > found.specificity) found = { specificity, quality: qualityOf(parameters) };
  }
  return found.quality > 0;
}

function qualityOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  return Number.isNaN(Number(text)) ? 0 : Number(text);
}

/** Returns the media type of a Content-Type header in lower case, without parameters; '' when there is none. */
export function mediaType(header: string | undefined): string {
  if (header === undefined) return '';
  const end = header.indexOf(';');
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/**
 * Checks that a text is a media type without parameters, such as `application/json`, and returns it in lower case.
 * @throws TypeError for any other text.
 */
export function checkMediaType(type: string): string {
  const lower = typeof type === 'string' ? type.toLowerCase() : '';
  if (!/^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(lower))
    throw new TypeError(`"${type}" is not a media type such as application/json`);
  return lower;
}
