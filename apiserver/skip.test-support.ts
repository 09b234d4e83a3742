/**
 * Ends a `before`, or a test, that finds a program or a server missing: what is skipped, and why, is printed. With `CI=true`,
 * where nothing may be skipped, it throws instead.
 */
export function skip(context: Mocha.Context, why: string, cause?: unknown): never {
  if (process.env['CI'] === 'true') throw new Error(why, { cause });
  const skipped = context.test?.fullTitle().replace(/ "before all" hook.*/, '');
  process.stderr.write(`skipped: ${skipped}: ${why}\n`);
  return context.skip();
}
