import type { Clock } from '@homeostat/controller-runtime/api';
import type { X509Certificate } from 'node:crypto';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { namesOfCertificate } from './certificate-names.ts';
import type { Issued } from './issue-certificate.ts';
import { expiryOf, isSelfSigned, parseCertificates, parseKeyAndChain } from './pem.ts';
import type { KeyAndChain } from './pem.ts';
import { createPrivate, readPrivate, readPublic, replaceFile } from './private-file.ts';
import type { CertificateSource, ServerCertificate } from './tls-options.ts';

const dayMs = 86_400_000;

/** The lifetimes of the authority and of its certificates, in days; the same as those of kubeadm. */
const authorityDays = 3650;
const serverDays = 365;

/** The remaining validity, in days, below which a server certificate is renewed. */
const renewalDays = 60;

/** The file with the authority's key and certificate. It is the only file that cannot be created again. */
export const authorityFile = 'authority.pem';
/** The file with a copy of the authority's certificate, for clients. */
export const publicFile = 'ca.crt';
/** The file with the server's key and certificate. */
const serverFile = 'server.pem';

export interface AuthorityFolderParts {
  readonly directory: string;
  /** The host names and addresses for which the certificate must be valid. */
  readonly names: readonly string[];
  readonly clock: Clock;
}

/**
 * Issues the certificate of the server, signed by an authority. A folder has three files: the authority, its public
 * certificate, and the certificate of the server. The authority is created once, when the folder is absent or has none
 * of these files. From then on, a missing authority is an error, because clients trust this authority. When one of the
 * other two files is missing, it is written again. A damaged file is an error.
 */
export class AuthorityFolder implements CertificateSource {
  readonly #parts: AuthorityFolderParts;

  constructor(parts: AuthorityFolderParts) {
    this.#parts = parts;
  }

  async load(): Promise<ServerCertificate> {
    const authority = await this.#authority();
    const [root] = authority.chain;
    const ca = root.toString();
    await this.#publish(ca);
    const stored = await this.#stored();
    if (stored !== undefined && this.#isGood(stored.chain[0], root)) return shown(stored, { ca, root });
    const path = this.#path(serverFile);
    const { key, cert } = await this.#issueServer(authority);
    await replaceFile(path, key + cert, 0o600);
    return shown(parseBoth(path, key + cert), { ca, root });
  }

  async #authority(): Promise<KeyAndChain> {
    const { directory, clock } = this.#parts;
    await openFolder(directory);
    if (await this.#isNew()) await this.#create();
    const path = this.#path(authorityFile);
    const authority = parseBoth(path, await orAdvice(readPrivate(path), path));
    const [root] = authority.chain;
    if (!root.ca || !isSelfSigned(root)) throw new Error(`${path}: contains no certificate authority`);
    if (expiryOf(root) > clock.now()) return authority;
    throw new Error(
      `${path}: the authority has expired (${root.validTo}): move ${directory} away, so that the server makes another one, and write every kubeconfig again`,
    );
  }

  /** Returns true when the folder has no file of an authority, so that no client can trust an authority yet. */
  async #isNew(): Promise<boolean> {
    const files = new Set(await readdir(this.#parts.directory));
    return ![authorityFile, publicFile, serverFile].some((file) => files.has(file));
  }

  async #create(): Promise<void> {
    const nowMs = this.#parts.clock.now();
    const { issueAuthority } = await import('./issue-certificate.ts');
    const { key, cert } = await issueAuthority({ nowMs, untilMs: nowMs + authorityDays * dayMs });
    try {
      await createPrivate(this.#path(authorityFile), key + cert);
    } catch (error) {
      // If the file exists, another process was faster, and its authority is used.
      if (!hasCode(error, 'EEXIST')) throw error;
    }
  }

  async #publish(ca: string): Promise<void> {
    const path = this.#path(publicFile);
    const text = await orAbsent(readPublic(path));
    if (text === undefined) return replaceFile(path, ca, 0o644);
    const [published] = parseCertificates({ path, text });
    if (published.toString() === ca) return undefined;
    throw new Error(
      `${path}: differs from the certificate in ${this.#path(authorityFile)}, so clients may trust another authority: restore both files from one backup, or remove ${path}, and the server writes it again`,
    );
  }

  /**
   * Returns the stored server certificate; undefined when there is none, so that one is issued. A damaged certificate
   * is an error.
   */
  async #stored(): Promise<KeyAndChain | undefined> {
    const path = this.#path(serverFile);
    const text = await orAbsent(readPrivate(path));
    return text === undefined ? undefined : parseBoth(path, text);
  }

  #isGood(certificate: X509Certificate, root: X509Certificate): boolean {
    const { names, clock } = this.#parts;
    if (!certificate.checkIssued(root) || !certificate.verify(root.publicKey)) return false;
    const present = new Set(namesOfCertificate(certificate.subjectAltName));
    if (present.size !== names.length || !names.every((name) => present.has(name))) return false;
    // A certificate cannot outlive its authority, so a certificate that ends with the authority is not renewed.
    return expiryOf(certificate) > Math.min(clock.now() + renewalDays * dayMs, expiryOf(root) - 1);
  }

  async #issueServer(authority: KeyAndChain): Promise<Issued> {
    const { names, clock } = this.#parts;
    const nowMs = clock.now();
    const untilMs = Math.min(nowMs + serverDays * dayMs, expiryOf(authority.chain[0]));
    const { issueServer } = await import('./issue-certificate.ts');
    return issueServer(authority, { nowMs, untilMs, names });
  }

  #path(file: string): string {
    return join(this.#parts.directory, file);
  }
}

async function openFolder(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { mode } = await stat(directory);
  // A user who can write to the folder could replace the authority. Windows does not have these file modes.
  if ((mode & 0o022) !== 0 && process.platform !== 'win32') {
    throw new Error(`${directory}: users other than its owner can write to this folder of private keys: chmod 700 it`);
  }
}

function parseBoth(path: string, text: string): KeyAndChain {
  return parseKeyAndChain({ key: { path, text }, cert: { path, text } });
}

function shown({ key, chain }: KeyAndChain, { ca, root }: { ca: string; root: X509Certificate }): ServerCertificate {
  return {
    key: String(key.export({ type: 'pkcs8', format: 'pem' })),
    cert: chain.map(String).join(''),
    ca,
    expiresMs: Math.min(expiryOf(chain[0]), expiryOf(root)),
  };
}

async function orAbsent(reading: Promise<string>): Promise<string | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function orAdvice(reading: Promise<string>, path: string): Promise<string> {
  const text = await orAbsent(reading);
  if (text !== undefined) return text;
  throw new Error(
    `${path}: is missing, and clients trust the authority that it held: restore it from a backup, or empty the folder, so that the server makes another one, and write every kubeconfig again`,
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === code;
}
