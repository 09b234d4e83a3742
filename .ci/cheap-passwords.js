// Makes the hashes of passwords cheap in tests: one takes a quarter of a second of CPU time, which protects stored
// hashes from guesses, but is of no use in a test. Only the cost that the product uses is lowered.
// password-hash.test.ts passes another cost, and shows that the cost stored in a hash is the one that is used.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const productCost = 2 ** 15;
const cheap = { cost: 2, parallelization: 1 };

const { scrypt } = crypto;
/** Changes only the form of the call that the product makes: with options, and a callback. */
function cheapScrypt(password, salt, length, ...[options, callback]) {
  const used = options.cost === productCost ? { ...options, ...cheap } : options;
  scrypt(password, salt, length, used, callback);
}

crypto.scrypt = cheapScrypt;
syncBuiltinESMExports();
