/** The source of an HTTPS server's certificate. */
export type TlsOptions =
  | {
      /** PEM file: the server's certificate, then those between it and its authority. */
      readonly certFile: string;
      /** PEM file of its private key, without a passphrase; readable by its owner only, or by a group when root owns it. */
      readonly keyFile: string;
    }
  | {
      /**
       * Folder of the server's own authority, which the server makes when the folder is absent or empty. Clients must trust
       * the `ca.crt` in it.
       */
      readonly directory: string;
    };

/** The certificate that a server presents to its clients. */
export interface ServerCertificate {
  /** The private key, in PEM. */
  readonly key: string;
  /** PEM: the certificate, then those between it and its authority. */
  readonly cert: string;
  /** The certificate that clients must trust, in PEM; undefined when the signer is an authority that they may know already. */
  readonly ca: string | undefined;
  /** Time at which the first of cert and ca ends, by the wall clock. */
  readonly expiresMs: number;
  /**
   * PEM of the authorities whose certificates of clients are accepted. If absent, clients are not asked for a
   * certificate.
   */
  readonly clientAuthorities?: string | undefined;
}

export interface CertificateSource {
  /**
   * Returns the certificate to use now, which is the same one until it has to be replaced. Rejects with an Error that
   * names the file and the remedy.
   */
  load(): Promise<ServerCertificate>;
}
