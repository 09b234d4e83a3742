// Makes the hashes of passwords cheap in tests. In the product, a hash takes a quarter of a second of CPU time, so that
// it is expensive to guess the password of a stored hash. Tests do not need this protection. A call with a cost other
// than the product's keeps its cost: password-hash.test.ts makes such a call, to show that the check of a password uses
// the cost that is stored in the hash.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const productCost = 2 ** 15;
const cheap = { cost: 2, parallelization: 1 };

const { scrypt } = crypto;
/** Replaces `crypto.scrypt`, in the only form that the product calls: with options and a callback. */
function cheapScrypt(password, salt, length, ...[options, callback]) {
  const used = options.cost === productCost ? { ...options, ...cheap } : options;
  scrypt(password, salt, length, used, callback);
}

crypto.scrypt = cheapScrypt;
syncBuiltinESMExports();
