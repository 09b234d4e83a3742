import { once } from 'node:events';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey, JWK, JWTHeaderParameters, JWTPayload } from 'jose';

interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** Key and certificate in one text of PEM, and the authority of the certificate. */
export interface IssuerCertificate {
  readonly pem: string;
  readonly ca: string;
}

/** An issuer of tokens by OpenID Connect, at its own HTTPS address. */
export class TokenIssuer {
  readonly ca: string;
  /** The requested paths. */
  readonly asked: string[] = [];
  /** Responses that replace the documents. */
  instead: ((response: ServerResponse, path: string) => void) | undefined;
  keys: readonly Key[] = [];
  /** Published beside the keys. */
  more: readonly unknown[] = [];
  readonly #server: Server;

  private constructor({ pem, ca }: IssuerCertificate) {
    this.ca = ca;
    this.#server = createServer({ key: pem, cert: pem }, (request, response) =>
      this.#answer(request.url ?? '', response),
    );
  }

  static async start(certificate: IssuerCertificate): Promise<TokenIssuer> {
    const issuer = new TokenIssuer(certificate);
    issuer.#server.listen(0, '127.0.0.1');
    await once(issuer.#server, 'listening');
    await issuer.rotate('first');
    return issuer;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Signs with another key from now on; the keys before stay published. */
  async rotate(kid: string, alg = 'RS256'): Promise<Key> {
    const { privateKey, publicKey } = await generateKeyPair(alg);
    const key = { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg } };
    this.keys = [...this.keys, key];
    return key;
  }

  /** A token by the latest key. A claim that is undefined is left out. */
  sign(claims: object, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const key = this.keys.at(-1)!;
    const payload = JSON.parse(JSON.stringify({ iss: this.url, ...claims })) as JWTPayload;
    const alg = key.publicJwk.alg!;
    return new SignJWT(payload).setProtectedHeader({ alg, kid: key.kid, ...header }).sign(key.privateKey);
  }

  #answer(path: string, response: ServerResponse): void {
    this.asked.push(path);
    if (this.instead !== undefined) return this.instead(response, path);
    const documents: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': { issuer: this.url, jwks_uri: `${this.url}/keys` },
      '/keys': { keys: [...this.keys.map(({ publicJwk }) => publicJwk), ...this.more] },
    };
    const document = documents[path];
    response.statusCode = document === undefined ? 404 : 200;
    response.end(JSON.stringify(document ?? {}));
  }
}
