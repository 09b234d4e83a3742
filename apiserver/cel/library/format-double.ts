/** Prints a double as Go's `%g` does: `1.5`, `1e+06`, `2e-09`. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 6) return `${digits}e${exponent.charAt(0)}${exponent.slice(1).padStart(2, '0')}`;
  return String(value);
}
