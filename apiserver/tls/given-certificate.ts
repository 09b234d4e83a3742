import { expiryOf, isSelfSigned, parseKeyAndChain } from './pem.ts';
import { readPrivate, readPublic } from './private-file.ts';
import type { CertificateSource, ServerCertificate } from './tls-options.ts';

/** Loads the server's certificate and its private key from two files, which another program renews. */
export class GivenCertificate implements CertificateSource {
  readonly #certFile: string;
  readonly #keyFile: string;

  constructor({ certFile, keyFile }: { readonly certFile: string; readonly keyFile: string }) {
    this.#certFile = certFile;
    this.#keyFile = keyFile;
  }

  async load(): Promise<ServerCertificate> {
    const cert = await readPublic(this.#certFile);
    const key = await readPrivate(this.#keyFile, { groupOfRoot: true });
    const { chain } = parseKeyAndChain({
      key: { path: this.#keyFile, text: key },
      cert: { path: this.#certFile, text: cert },
    });
    const root = chain.at(-1) ?? chain[0];
    return {
      key,
      cert,
      ca: isSelfSigned(root) ? root.toString() : undefined,
      expiresMs: Math.min(...chain.map(expiryOf)),
    };
  }
}
