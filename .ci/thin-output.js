// Reduces the size of the files that a compiled package publishes: its bundle or, if there is none, everything that tsc
// wrote. The `prepack` script of each compiled package runs this script in the folder of the package. It removes
// comment lines from scripts; declarations keep their comments, which editors show. Source maps keep their sources, but
// lose the columns: they map each compiled line to the source line of its first token. This is enough to find the code.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Returns the numbers in one segment of a source map (ECMA-426, base64 VLQ). */
function decodeSegment(text) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const digit of text) {
    const bits = digits.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    numbers.push((value & 1) === 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function encodeNumber(number) {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = '';
  do {
    const bits = rest & 31;
    rest >>= 5;
    text += digits[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return text;
}

/**
 * Returns, for each compiled line, where its first token is in the sources: the index of the source file, and the line
 * in this file. Returns undefined for lines that the compiler added.
 */
function sourceLines(mappings) {
  let source = 0;
  let sourceLine = 0;
  return mappings.split(';').map((line) => {
    let first;
    for (const segment of line === '' ? [] : line.split(',')) {
      const [, sources, lines] = decodeSegment(segment);
      if (lines === undefined) continue;
      source += sources;
      sourceLine += lines;
      first ??= { source, line: sourceLine };
    }
    return first;
  });
}

function formatMappings(lines) {
  let last = { source: 0, line: 0 };
  return lines
    .map((place) => {
      if (place === undefined) return '';
      const segment = `A${encodeNumber(place.source - last.source)}${encodeNumber(place.line - last.line)}A`;
      last = place;
      return segment;
    })
    .join(';');
}

/**
 * Returns the indexes of the lines that consist of comments, except `sourceMappingURL`. The parser finds them, because
 * a template literal may have lines that only look like comments.
 */
function commentLines(path, code) {
  const { comments, errors } = parseSync(path, code);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  const lines = new Set();
  for (const { start, end, value } of comments) {
    const lineStart = code.lastIndexOf('\n', start - 1) + 1;
    const newline = code.indexOf('\n', end);
    const lineEnd = newline < 0 ? code.length : newline;
    const isAlone = `${code.slice(lineStart, start)}${code.slice(end, lineEnd)}`.trim() === '';
    if (!isAlone || value.startsWith('# sourceMappingURL=')) continue;
    const first = code.slice(0, lineStart).split('\n').length - 1;
    const count = code.slice(lineStart, lineEnd).split('\n').length;
    for (let line = first; line < first + count; line += 1) lines.add(line);
  }
  return lines;
}

/** Replaces a file atomically, since programs may be loading it. Does not write a file that already has this text. */
function replace(path, before, text) {
  if (text === before) return;
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

function thin(path) {
  const code = readFileSync(path, 'utf8');
  const mapText = readFileSync(`${path}.map`, 'utf8');
  const map = JSON.parse(mapText);
  const needless = commentLines(path, code);
  const keep = (_, line) => !needless.has(line);
  const mappings = formatMappings(sourceLines(map.mappings).filter(keep));
  replace(`${path}.map`, mapText, JSON.stringify({ ...map, mappings }));
  replace(path, code, code.split('\n').filter(keep).join('\n'));
}

const folder = existsSync('dist/bundle') ? 'dist/bundle' : 'dist';
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
const known = new Set(files);
for (const file of files) if (file.endsWith('.js') && known.has(`${file}.map`)) thin(join(folder, file));
