import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Logger } from '@homeostat/controller-runtime/api';
import type { Vault } from '../vault/vault.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';
import { BearerToken, digestBytes } from './bearer-token.ts';
import { administrator } from './user-info.ts';
import type { UserInfo } from './user-info.ts';
import { readVault } from '../vault/read-vault.ts';

/** The file with the administrator's token on a machine. */
export interface AdministratorFile {
  readonly path: string;
  /**
   * Returns the token; undefined if there is no file. @throws Error when the file cannot be read or has no valid token
   */
  read(): string | undefined;
  /** Creates the file at `path`, with this token in it. */
  write(token: string): Promise<void>;
}

export interface AdministratorParts {
  readonly file: AdministratorFile;
  readonly vault: Vault;
  /** True when other machines may serve the same database. */
  readonly isShared: boolean;
  readonly logger: Logger;
}

/** The digests of tokens in the database, in hexadecimal. */
interface KnownTokens {
  readonly current: string;
  /** The digests of former tokens, the latest last. A token whose digest is here cannot become valid again. */
  readonly former: readonly string[];
}

const entryName = 'administrator/token';

/** The maximum number of former tokens whose digests are kept. */
const maxFormer = 500;

/** The length of a token: 256 random bits. They cannot be guessed, so they need no slow hash. */
const tokenBytes = 32;

/**
 * Authenticates the administrator of a database by a token. The vault has the digest of the token, so all replicas
 * accept the same token. The token itself is in a file.
 */
export class Administrator implements TokenAuthenticator {
  readonly #parts: AdministratorParts;
  /** The value of the vault from which the digest in {@link #current} was decoded. */
  #known: KnownTokens | undefined;
  readonly #current = Buffer.alloc(digestBytes);

  constructor(parts: AdministratorParts) {
    this.#parts = parts;
  }

  readonly ofToken = ({ digest }: BearerToken): UserInfo | undefined => {
    const known = readVault<KnownTokens>(this.#parts.vault, entryName);
    if (known === undefined) return undefined;
    if (known !== this.#known) this.#current.write(known.current, 'hex');
    this.#known = known;
    // Digests have equal lengths, so the time of the comparison reveals neither the token nor its length.
    return timingSafeEqual(digest, this.#current) ? administrator : undefined;
  };

  /**
   * Makes the token in the file the valid one. Rejects when the file has a former token, which another token has
   * replaced. If there is no file, creates a token and the file. But if a shared database already has a token, creates
   * neither, because another machine has the file.
   */
  async open(): Promise<void> {
    const { file, vault, isShared, logger } = this.#parts;
    const own = file.read();
    const known = readVault<KnownTokens>(vault, entryName);
    if (own !== undefined) await adopt(own, known, this.#parts);
    else if (!isShared || known === undefined) await makeToken(known, this.#parts);
    if (file.read() !== undefined) return;
    const cure =
      'copy the file from the machine that created it; if no machine has it, write a kubeconfig with another token to this file, and restart the server';
    logger.warn({ file: file.path }, `this machine has no kubeconfig of the administrator: ${cure}`);
  }
}

async function adopt(own: string, known: KnownTokens | undefined, { file, vault }: AdministratorParts): Promise<void> {
  const digest = digestOf(own).toString('hex');
  if (known?.current === digest) return;
  if (known?.former.includes(digest) === true) {
    throw new Error(
      `${file.path}: holds a token that was replaced: copy the file from the machine that has the new token, or put another token into the file`,
    );
  }
  await vault.put(entryName, next(known, digest));
}

/**
 * Creates a token and its file. The file is written only after the token has become the valid one: if several replicas
 * start at the same time, only one of them creates the token.
 */
async function makeToken(known: KnownTokens | undefined, { file, vault, isShared }: AdministratorParts): Promise<void> {
  const token = randomBytes(tokenBytes).toString('base64url');
  const isOwn = await vault.put(entryName, next(known, digestOf(token).toString('hex')), { ifAbsent: isShared });
  if (!isOwn) return;
  try {
    await file.write(token);
  } catch (error) {
    if (known === undefined) await vault.delete(entryName);
    throw error;
  }
}

function next(known: KnownTokens | undefined, current: string): KnownTokens {
  const former = known === undefined ? [] : [...known.former, known.current];
  return { current, former: former.slice(-maxFormer) };
}

function digestOf(token: string): Buffer {
  return new BearerToken(token).digest;
}
