/** The source of an HTTPS server's certificate. */
export type TlsOptions =
  | {
      /** The path of a PEM file: the server's certificate, then the certificates between it and its authority. */
      readonly certFile: string;
      /**
       * The path of a PEM file with the private key of the certificate, without a passphrase. No user except the owner
       * of the file may have access to it. If the owner is root, the group of the file may read it, too.
       */
      readonly keyFile: string;
    }
  | {
      /**
       * The folder of the server's own authority. The server creates the authority when the folder is absent or has
       * none of its files. Clients must trust the certificate `ca.crt` in it.
       */
      readonly directory: string;
    };

/** The certificate that a server presents to its clients. */
export interface ServerCertificate {
  /** The private key, in PEM. */
  readonly key: string;
  /** The certificate in PEM, then the certificates between it and its authority. */
  readonly cert: string;
  /**
   * The certificate of the authority that clients must trust, in PEM; undefined when the chain in `certFile` does not
   * end with a self-signed certificate.
   */
  readonly ca: string | undefined;
  /**
   * The time, in milliseconds of the wall clock, from which one of these certificates, or the authority, is expired.
   */
  readonly expiresMs: number;
  /** The authorities whose client certificates are accepted, in PEM. If absent, the server requests no certificates. */
  readonly clientAuthorities?: string | undefined;
}

export interface CertificateSource {
  /**
   * Returns the certificate to use now. It is the same certificate until it has to be replaced. When a file of the
   * source, or its folder, cannot be used, rejects with an Error that names this file or folder.
   */
  load(): Promise<ServerCertificate>;
}
