import { createPrivateKey, X509Certificate } from 'node:crypto';

/** The certificates and the key of a TLS connection, in PEM. */
export interface TlsIdentity {
  /**
   * The only certificate authorities that are trusted to sign the server's certificate. Default: those that Node.js
   * trusts.
   */
  readonly ca?: string | undefined;
  /**
   * The client's certificate, followed by the certificates of the intermediate authorities, up to an authority that the
   * server trusts. Default none.
   */
  readonly cert?: string | undefined;
  /** The private key of the certificate, not encrypted. */
  readonly key?: string | undefined;
}

/**
 * Makes a fetch that connects only to servers whose certificate one of the given authorities has signed, and that sends
 * the client's certificate to these servers. The fetch of Node.js can do neither, so the result uses the fetch of
 * undici, which is loaded at the first request. Throws TypeError when a certificate or the key cannot be read, when
 * there is a certificate without a key or a key without a certificate, or when the key is not that of the certificate.
 */
export function trustingFetch({ ca, cert, key }: TlsIdentity): typeof fetch {
  const authorities = ca === undefined ? undefined : certificatesIn('ca', ca);
  checkPair(cert, key);
  const connect = {
    ...(authorities === undefined ? {} : { ca: [...authorities] }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
  let loading: Promise<typeof fetch> | undefined;
  return async (input, init) => {
    loading ??= load(connect);
    const trusting = await loading;
    return trusting(input, init);
  };
}

function certificatesIn(name: string, pem: string): readonly string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new TypeError(`${name}: holds no certificate in PEM`);
  for (const each of found) readCertificate(name, each);
  return found;
}

function readCertificate(name: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new TypeError(`${name}: holds a certificate that cannot be read`, { cause });
  }
}

/**
 * Checks that there are both a certificate and its key, or neither. With only one of the two, the connection would be
 * anonymous, or would fail with a message that does not name the missing one.
 */
function checkPair(cert: string | undefined, key: string | undefined): void {
  if (cert === undefined && key === undefined) return;
  if (cert === undefined) throw new TypeError('cert: is missing, but there is a key');
  if (key === undefined) throw new TypeError('key: is missing, but there is a certificate');
  const [own = ''] = certificatesIn('cert', cert);
  if (!isKeyOf(readCertificate('cert', own), key)) throw new TypeError('key: is not the key of the certificate');
}

function isKeyOf(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    // The error of OpenSSL is left out, because it contains only a code.
    throw new TypeError('key: holds no private key in PEM that is readable and not encrypted');
  }
}

async function load(connect: { ca?: string[]; cert?: string; key?: string }): Promise<typeof fetch> {
  const undici = await import('undici');
  // The agent need not be closed, because its idle connections do not keep the process alive. The agent of Node.js' own
  // fetch is the same in this respect.
  const dispatcher = new undici.Agent({ connect });
  const trusting = async (input: string, init: object): Promise<unknown> =>
    undici.fetch(input, { ...init, dispatcher });
  return trusting as unknown as typeof fetch;
}
