const maxInt64 = 2n ** 63n - 1n;
const digits = /^[0-9]{1,63}$/;

/** The number that a label's value stands for in `>` and `<` (a 64-bit integer without sign); undefined for any other text. */
export function wholeNumber(text: string): bigint | undefined {
  if (!digits.test(text)) return undefined;
  const value = BigInt(text);
  return value <= maxInt64 ? value : undefined;
}
