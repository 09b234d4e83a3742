import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { JWTHeaderParameters } from 'jose';

/** The key and the certificate of an issuer in one PEM text, and the CA of the certificate. */
export interface IssuerCertificate {
  readonly pem: string;
  readonly ca: string;
}

/** The faults of an issuer, which decide what it sends in place of its documents. */
export type IssuerFault =
  | 'silent'
  | 'of another issuer'
  | 'no JSON'
  | 'null'
  | 'keys over plain HTTP'
  | 'a redirect'
  | 'an error'
  | 'without end';

/** A message to the process of an issuer. */
export type IssuerOrder = { readonly id: number } & Order;

type Order =
  | { readonly do: 'sign'; readonly claims: object; readonly header: object }
  | { readonly do: 'rotate'; readonly kid: string; readonly alg: string }
  | { readonly do: 'keep keys'; readonly from: number; readonly to: number | undefined }
  | { readonly do: 'publish'; readonly more: readonly unknown[] }
  | { readonly do: 'fail'; readonly fault: IssuerFault | undefined }
  | { readonly do: 'asked' }
  | {
      readonly do: 'expect';
      readonly person: object;
      readonly client: { readonly id: string; readonly secret: string };
    };

/** A response of the issuer's process. */
export interface IssuerReply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** An OpenID Connect issuer of tokens, in its own process. */
export class TokenIssuer {
  readonly ca: string;
  readonly url: string;
  readonly #child: ChildProcess;
  #orders = 0;

  private constructor(child: ChildProcess, url: string, ca: string) {
    this.#child = child;
    this.url = url;
    this.ca = ca;
    child.setMaxListeners(100);
  }

  /** Starts an issuer with one key. */
  static async start({ pem, ca }: IssuerCertificate): Promise<TokenIssuer> {
    const child = fork(new URL('./issuer-process.js', import.meta.url), [pem], { serialization: 'advanced' });
    const [first] = (await once(child, 'message')) as [IssuerReply];
    const issuer = new TokenIssuer(child, String(first.value), ca);
    await issuer.rotate('first');
    return issuer;
  }

  /** Kills the process with SIGKILL, so that its connections break. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  /**
   * Generates a key with which later tokens are signed; earlier keys stay published. An ES256 key takes 0.1 ms to
   * generate, an RS256 key 100 ms.
   */
  async rotate(kid: string, alg = 'ES256'): Promise<void> {
    await this.#order({ do: 'rotate', kid, alg });
  }

  /** Signs a token with the latest key. A claim that is undefined is left out. */
  async sign(claims: object, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    return String(await this.#order({ do: 'sign', claims, header }));
  }

  /** Keeps only the keys with the indexes from `from` up to, but without, `to`. The others are no longer published. */
  async keepKeys(from: number, to?: number): Promise<void> {
    await this.#order({ do: 'keep keys', from, to });
  }

  /**
   * Makes the issuer publish these entries in its JWKS (the list of its public keys), in addition to its keys. They
   * replace the entries of an earlier call.
   */
  async publish(more: readonly unknown[]): Promise<void> {
    await this.#order({ do: 'publish', more });
  }

  /** Sets the fault of the issuer. With undefined, the issuer works again. */
  async fail(fault: IssuerFault | undefined): Promise<void> {
    await this.#order({ do: 'fail', fault });
  }

  /** Returns the paths of the requests so far. */
  async asked(): Promise<readonly string[]> {
    return (await this.#order({ do: 'asked' })) as readonly string[];
  }

  /**
   * Sets the person of later logins: their ID tokens have the given claims. If the claims have `alg`, the token is not
   * signed.
   */
  async expect(person: object, client = { id: 'homeostat', secret: '' }): Promise<void> {
    await this.#order({ do: 'expect', person, client });
  }

  async #order(order: Order): Promise<unknown> {
    this.#orders += 1;
    const id = this.#orders;
    const reply = new Promise<IssuerReply>((resolve, reject) => {
      const listen = (message: IssuerReply): void => {
        if (message.id !== id) return;
        this.#child.off('message', listen).off('exit', fail);
        resolve(message);
      };
      const fail = (): void => reject(new Error('the issuer has ended'));
      this.#child.on('message', listen).once('exit', fail);
    });
    this.#child.send({ ...order, id });
    const { value, error } = await reply;
    if (error !== undefined) throw new Error(error);
    return value;
  }
}
