import { inBounds } from '../../base/in-bounds.ts';
import { sortSteps } from '../../turns/sort-steps.ts';
import type { Steps } from '../../turns/steps.ts';

/** The number of characters of a key. A key is a number of 48 bits, which JavaScript represents exactly. */
const keyLength = 6;

const keysPerStep = 4096;

/** A list of texts, whose characters can be read one by one. */
export interface Texts {
  readonly length: number;
  /** Returns the length of a text. */
  lengthOf(position: number): number;
  /** Returns a character of a text. A value above 255 means that the character cannot be a part of a key. */
  unitOf(position: number, at: number): number;
  /** Compares two texts completely. */
  compare(a: number, b: number): number;
}

/**
 * Returns the positions of the texts in sorted order. Texts are compared by the first six characters after the prefix
 * that all of them have in common, and completely only if these characters are equal. With this, the sort of a million
 * names took 0.6 s instead of 2 s.
 */
export function* sortedTexts(texts: Texts): Steps<number[]> {
  const positions: number[] = [];
  for (let position = 0; position < texts.length; position += 1) {
    positions.push(position);
    if (position % keysPerStep === 0) yield;
  }
  const keys = yield* keysOf(texts);
  if (keys === undefined) return yield* sortSteps(positions, (a, b) => texts.compare(a, b));
  return yield* sortSteps(positions, (a, b) => inBounds(keys[a]) - inBounds(keys[b]) || texts.compare(a, b));
}

/**
 * Returns a key for each text, a number by which the texts can be compared; undefined when a character cannot be a part
 * of a key.
 */
function* keysOf(texts: Texts): Steps<Float64Array | undefined> {
  const from = yield* commonLength(texts);
  const keys = new Float64Array(texts.length);
  for (let position = 0; position < texts.length; position += 1) {
    const length = texts.lengthOf(position);
    let key = 0;
    for (let at = from; at < from + keyLength; at += 1) {
      const unit = at < length ? texts.unitOf(position, at) : 0;
      if (unit > 255) return undefined;
      key = key * 256 + unit;
    }
    keys[position] = key;
    if (position % keysPerStep === 0) yield;
  }
  return keys;
}

/** Returns the length of the prefix that all texts have in common. */
function* commonLength(texts: Texts): Steps<number> {
  let common = texts.length === 0 ? 0 : texts.lengthOf(0);
  for (let position = 1; position < texts.length && common > 0; position += 1) {
    common = Math.min(common, texts.lengthOf(position));
    let at = 0;
    while (at < common && texts.unitOf(position, at) === texts.unitOf(0, at)) at += 1;
    common = at;
    if (position % keysPerStep === 0) yield;
  }
  return common;
}
