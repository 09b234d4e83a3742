import { X509Certificate } from 'node:crypto';

/**
 * A fetch that connects only to servers with a certificate of one of these authorities (PEM). Node's own fetch cannot
 * do this, so it uses undici's, which is loaded at the first request. Throws TypeError when there is no certificate.
 */
export function trustingFetch(ca: string): typeof fetch {
  const authorities = ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (authorities.length === 0) throw new TypeError('ca: holds no certificate in PEM');
  for (const authority of authorities) checkCertificate(authority);
  let loading: Promise<typeof fetch> | undefined;
  return async (input, init) => {
    loading ??= load(authorities);
    const trusting = await loading;
    return trusting(input, init);
  };
}

function checkCertificate(pem: string): void {
  try {
    void new X509Certificate(pem);
  } catch (cause) {
    throw new TypeError('ca: holds a certificate that cannot be read', { cause });
  }
}

async function load(ca: readonly string[]): Promise<typeof fetch> {
  const undici = await import('undici');
  // Like those of Node's own fetch, its idle connections do not keep the process alive, so there is nothing to close.
  const dispatcher = new undici.Agent({ connect: { ca: [...ca] } });
  const trusting = async (input: string, init: object): Promise<unknown> =>
    undici.fetch(input, { ...init, dispatcher });
  return trusting as unknown as typeof fetch;
}
