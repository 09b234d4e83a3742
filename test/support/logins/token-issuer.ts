import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { JWTHeaderParameters } from 'jose';

/** Key and certificate in one text of PEM, and the authority of the certificate. */
export interface IssuerCertificate {
  readonly pem: string;
  readonly ca: string;
}

/** The faults of an issuer: what it sends instead of its documents. */
export type IssuerFault =
  'silent' | 'of another issuer' | 'no JSON' | 'null' | 'keys in the clear' | 'a redirect' | 'an error' | 'without end';

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

/** An issuer of tokens by OpenID Connect, in its own process. */
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

  /** SIGKILL: its connections break. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  /**
   * Signs with another key from now on; the keys before stay published. A key of ES256 takes 0.1 ms to generate, one of
   * RS256 takes 100 ms.
   */
  async rotate(kid: string, alg = 'ES256'): Promise<void> {
    await this.#order({ do: 'rotate', kid, alg });
  }

  /** A token by the latest key. A claim that is undefined is left out. */
  async sign(claims: object, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    return String(await this.#order({ do: 'sign', claims, header }));
  }

  /** Takes back the keys before `from`, and those from `to` on. */
  async keepKeys(from: number, to?: number): Promise<void> {
    await this.#order({ do: 'keep keys', from, to });
  }

  /** Adds these entries to the published set of keys. */
  async publish(more: readonly unknown[]): Promise<void> {
    await this.#order({ do: 'publish', more });
  }

  /** Sets how the issuer fails from now on. With undefined, it works again. */
  async fail(fault: IssuerFault | undefined): Promise<void> {
    await this.#order({ do: 'fail', fault });
  }

  /** The paths that were asked for. */
  async asked(): Promise<readonly string[]> {
    return (await this.#order({ do: 'asked' })) as readonly string[];
  }

  /**
   * From now on each browser belongs to this person, whose ID token has these claims. With `alg` among the claims, the
   * token is not signed.
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
