/** Where the certificate of an HTTPS server comes from. */
export type TlsOptions =
  | {
      /** PEM file: the server's certificate, then those between it and its authority. */
      readonly certFile: string;
      /** PEM file of its private key, without a passphrase; readable by its owner only, or by a group where root owns it. */
      readonly keyFile: string;
    }
  | {
      /**
       * Folder of an authority of the server's own, which is made there when the folder is absent or empty. `ca.crt` in it
       * is what clients have to trust.
       */
      readonly directory: string;
    };

/** What a server shows to its clients. */
export interface ServerCertificate {
  /** PEM. */
  readonly key: string;
  /** PEM: the certificate, then those between it and its authority. */
  readonly cert: string;
  /** PEM of what clients have to trust; undefined where an authority that they may know already has signed. */
  readonly ca: string | undefined;
  /** When the first of cert and ca ends, by the wall clock. */
  readonly expiresMs: number;
}

export interface CertificateSource {
  /** What to show now; the same again while that is good. Rejects with Error, which names the file and what to do. */
  load(): Promise<ServerCertificate>;
}
