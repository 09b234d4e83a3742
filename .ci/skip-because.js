// Adds `this.skipBecause(why, cause)` to tests and hooks. Its type is in mocha-context.d.ts.
import Mocha from 'mocha';

export function addSkipBecause() {
  Mocha.Context.prototype.skipBecause = function skipBecause(why, cause) {
    if (process.env.CI === 'true') throw new Error(why, { cause });
    const skipped = this.test?.fullTitle().replace(/ "before all" hook.*/, '');
    process.stderr.write(`skipped: ${skipped}: ${why}\n`);
    return this.skip();
  };
}
