import fc from 'fast-check';

const firstSurrogate = 0xd800;
const surrogates = 0x800;
const codePoints = 0x11_00_00;

/**
 * All characters of Unicode, for `fc.string({ unit: characters })`. The unit `binary` of fast-check has the same
 * characters, but takes 0.7 to 1.4 s of CPU time in each process, because it makes a table of all characters.
 */
export const characters: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: codePoints - surrogates - 1 })
  .map(characterAt, indexOf);

function characterAt(index: number): string {
  return String.fromCodePoint(index < firstSurrogate ? index : index + surrogates);
}

/**
 * Returns the index of a character. fast-check uses this function to split special texts such as `__proto__` into
 * characters. Without this function, fast-check would hardly ever generate such texts.
 */
function indexOf(character: unknown): number {
  const codePoint = String(character).codePointAt(0) ?? 0;
  return codePoint < firstSurrogate ? codePoint : codePoint - surrogates;
}
