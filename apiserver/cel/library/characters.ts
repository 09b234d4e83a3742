import type { CostMeter } from '../values/cost-meter.ts';

/** The number of UTF-16 units of a text that are read in the time of one unit of cost. */
const unitsPerCost = 20;

const surrogate = /[\ud800-\udfff]/;

/**
 * Returns the number of characters (code points). In Kubernetes, this costs 1 for a text of any length; here, a long
 * text costs more.
 */
export function countCharacters(text: string, meter: CostMeter): number {
  if (!hasPairs(text, meter)) return text.length;
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0xdc00 || unit > 0xdfff) count += 1;
  }
  return count;
}

/**
 * Returns the characters of a text. Returns undefined when each character is one UTF-16 unit; callers then use the text
 * itself, which is faster.
 */
export function pairedCharacters(text: string, meter: CostMeter): readonly string[] | undefined {
  if (!hasPairs(text, meter)) return undefined;
  meter.add(text.length);
  return Array.from(text);
}

function hasPairs(text: string, meter: CostMeter): boolean {
  if (text.length >= unitsPerCost) meter.add(text.length / unitsPerCost);
  return surrogate.test(text);
}
