import { ApiError } from '@homeostat/controller-runtime/api';
import { inBounds } from '../../base/in-bounds.ts';
import { bareRecord } from '../../base/bare-record.ts';

/** One segment of a route's path: a literal text, or a variable that matches any segment. */
export type PatternSegment =
  { readonly kind: 'literal'; readonly text: string } | { readonly kind: 'variable'; readonly name: string };

/** The maximum length of a path that can match, in characters. */
const maxPathLength = 2048;

const literalPattern = /^[A-Za-z0-9._~!$&'()+,;=@-]+$/;
const variablePattern = /^:[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Parses a path such as `/persons/:name/greeting`. '' and '/' have no segments.
 * @throws TypeError that quotes the path and names the mistake.
 */
export function parsePattern(path: string): readonly PatternSegment[] {
  if (typeof path !== 'string') throw new TypeError('the path of a route must be a text such as /persons/:name');
  if (path === '' || path === '/') return [];
  if (!path.startsWith('/')) throw malformed(path, 'must begin with a slash');
  if (path.length > maxPathLength) throw malformed(path.slice(0, 64), `must have at most ${maxPathLength} characters`);
  return Object.freeze(
    path
      .slice(1)
      .split('/')
      .map((text) => parseSegment(text, path)),
  );
}

function parseSegment(text: string, path: string): PatternSegment {
  if (variablePattern.test(text)) return Object.freeze({ kind: 'variable', name: text.slice(1) });
  if (literalPattern.test(text) && text !== '.' && text !== '..') return Object.freeze({ kind: 'literal', text });
  const forms = "letters, digits and -._~!$&'()+,;=@, or a variable such as :name";
  throw malformed(path, `has "${text}", which is not a segment: use ${forms}`);
}

/** Refuses a variable that occurs twice in a path, for example in nested routes. */
export function checkVariables(segments: readonly PatternSegment[]): void {
  const names = segments.flatMap((segment) => (segment.kind === 'variable' ? [segment.name] : []));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw malformed(formatPattern(segments), `has two variables named "${twice}"`);
}

/**
 * Returns the pattern in the form of API documents, such as `/persons/{name}/greeting`; '' for a pattern without
 * segments.
 */
export function formatPattern(segments: readonly PatternSegment[]): string {
  return segments.map((segment) => `/${segment.kind === 'literal' ? segment.text : `{${segment.name}}`}`).join('');
}

/** Returns a key that is equal for patterns that match the same paths. */
export function patternKey(segments: readonly PatternSegment[]): string {
  return segments.map((segment) => `/${segment.kind === 'literal' ? segment.text : '{}'}`).join('');
}

/**
 * Returns the segments of a request's path, each percent-decoded once; undefined when no route can match, because a
 * segment is empty or the path is too long. One trailing slash is ignored (objects-and-http "Endpoints").
 * @throws ApiError BadRequest when percent-decoding fails: for a `%` without two hex digits, or for bytes that are not
 * UTF-8.
 */
export function splitPath(path: string): readonly string[] | undefined {
  if (path.length > maxPathLength) return undefined;
  const end = path.length > 1 && path.endsWith('/') ? -1 : path.length;
  const segments = path.slice(1, end).split('/');
  if (segments.includes('')) return undefined;
  return path.includes('%') ? segments.map(decodeSegment) : segments;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new ApiError('BadRequest', 'the path is not valid percent-encoded UTF-8', { cause });
  }
}

/**
 * True when the segments of a path match the pattern, from `offset` on. The path may have further segments after those
 * of the pattern.
 */
export function matchesPattern(
  pattern: readonly PatternSegment[],
  segments: readonly string[],
  offset: number,
): boolean {
  if (segments.length < offset + pattern.length) return false;
  return pattern.every((wanted, index) => wanted.kind !== 'literal' || wanted.text === segments[offset + index]);
}

/**
 * Returns the variables of a matching path, as a frozen object without a prototype, since the names come from the
 * author, and the values from the client.
 */
export function variablesOf(
  pattern: readonly PatternSegment[],
  segments: readonly string[],
  offset: number,
): Readonly<Record<string, string>> {
  const variables = bareRecord<string>();
  for (const [index, segment] of pattern.entries()) {
    if (segment.kind === 'variable') variables[segment.name] = inBounds(segments[offset + index]);
  }
  return Object.freeze(variables);
}

function malformed(path: string, rule: string): TypeError {
  return new TypeError(`the path "${path}" of a route ${rule}`);
}
