// Makes the hashes of passwords cheap in tests: one takes a quarter of a second of CPU time, which protects stored
// hashes from guesses, and no test from anything. Only the cost of the product is lowered. With another cost,
// password-hash.test.ts shows that the cost of a hash is the one that is used.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const productCost = 2 ** 15;
const cheap = { cost: 2, parallelization: 1 };

const { scrypt } = crypto;
/** Only the form that the product calls: with options, and a callback. */
function cheapScrypt(password, salt, length, ...[options, callback]) {
  const used = options.cost === productCost ? { ...options, ...cheap } : options;
  scrypt(password, salt, length, used, callback);
}

crypto.scrypt = cheapScrypt;
syncBuiltinESMExports();
