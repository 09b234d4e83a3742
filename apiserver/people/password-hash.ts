import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** A hash with the parameters that are needed to check a password. Bytes are in base64. */
export interface PasswordHash {
  readonly algorithm: 'scrypt';
  /** The cost in time and memory, the block size, and the number of passes. */
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
  readonly salt: string;
  readonly key: string;
}

type Parameters = Omit<PasswordHash, 'salt' | 'key'>;

/**
 * The parameters of new hashes: 32 MiB and three passes. This is one of the settings that OWASP names as equally
 * strong.
 */
const parameters: Parameters = { algorithm: 'scrypt', cost: 2 ** 15, blockSize: 8, parallelization: 3 };

const keyBytes = 32;
const saltBytes = 16;

/** Hashes a password with a new salt, in a thread of libuv's pool. */
export async function hashPassword(password: string): Promise<PasswordHash> {
  const salt = randomBytes(saltBytes);
  const key = await derive(password, salt, parameters);
  return { ...parameters, salt: salt.toString('base64'), key: key.toString('base64') };
}

/** Resolves with true if this is a hash of the password. */
export async function verifyPassword(password: string, hash: PasswordHash): Promise<boolean> {
  const expected = Buffer.from(hash.key, 'base64');
  const found = await derive(password, Buffer.from(hash.salt, 'base64'), hash);
  return expected.length === found.length && timingSafeEqual(expected, found);
}

/** A hash that no password matches. It is used for unknown users, so that their checks take as long as other checks. */
export const dummyHash: PasswordHash = {
  ...parameters,
  salt: Buffer.alloc(saltBytes).toString('base64'),
  key: Buffer.alloc(keyBytes).toString('base64'),
};

function derive(password: string, salt: Buffer, hash: Parameters): Promise<Buffer> {
  const { cost, blockSize, parallelization } = hash;
  // The limit is twice the memory that scrypt needs, because OpenSSL requires this margin.
  const maxmem = 2 * 128 * cost * blockSize;
  const options = { cost, blockSize, parallelization, maxmem };
  return new Promise((resolve, reject) => {
    // The password is normalized, because devices may send the same characters in composed or decomposed form.
    scrypt(password.normalize('NFKC'), salt, keyBytes, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
