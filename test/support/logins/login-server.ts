import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiServerOptions } from '@homeostat/apiserver';
import type { Logger } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { authenticationConfiguration, indented, issuerCertificate } from './issuer-certificate.ts';
import { LoginBrowser } from './login-browser.ts';
import { TestServer } from '../servers/test-server.ts';
import { TokenIssuer } from './token-issuer.ts';

/** An issuer in the configuration: its name in paths, and more lines of YAML for its `browserLogin`. */
export interface LoginEntry {
  readonly name: string;
  readonly more?: string;
}

/** A server, and issuers at which people log in with a browser. */
export class LoginServer {
  readonly clock = new FakeClock();
  readonly logged: string[] = [];
  readonly folder: string;
  readonly issuers: readonly TokenIssuer[];
  readonly file: string;
  #server: TestServer | undefined;

  private constructor(folder: string, issuers: readonly TokenIssuer[]) {
    this.folder = folder;
    this.file = join(folder, 'authentication.yaml');
    this.issuers = issuers;
  }

  /** Starts the issuers, which run longer than the servers of the tests. */
  static async create(count: number): Promise<LoginServer> {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-login-'));
    const certificate = await issuerCertificate(folder);
    const issuers: TokenIssuer[] = [];
    for (let index = 0; index < count; index += 1) issuers.push(await TokenIssuer.start(certificate));
    return new LoginServer(folder, issuers);
  }

  get server(): TestServer {
    if (this.#server === undefined) throw new Error('the server has not been started');
    return this.#server;
  }

  get issuer(): TokenIssuer {
    const [first] = this.issuers;
    if (first === undefined) throw new Error('there is no issuer');
    return first;
  }

  get options(): ApiServerOptions {
    const log = (fields: object, message: string): void =>
      void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    return { token: 'correct-horse-battery-staple', authenticationConfig: this.file, clock: this.clock, logger };
  }

  /**
   * Writes the configuration. The first entry is for the first issuer, and so on; issuers without an entry are left
   * out.
   */
  async configure(...entries: readonly LoginEntry[]): Promise<void> {
    const texts = entries.map((entry, index) => entryOf(this.issuers[index]?.url ?? '', this.issuer.ca, entry));
    await writeFile(this.file, authenticationConfiguration(...texts), { mode: 0o600 });
  }

  async start(options: ApiServerOptions = {}): Promise<void> {
    this.logged.length = 0;
    this.#server = await TestServer.start({ ...this.options, ...options });
  }

  browser(headers: Readonly<Record<string, string>> = {}): LoginBrowser {
    return new LoginBrowser(this.server.api.url, this.issuer.ca, headers);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** Stops the server and the issuers, and deletes their folder. */
  async close(): Promise<void> {
    await this.stop();
    await Promise.all(this.issuers.map(async (issuer) => issuer.stop()));
    await rm(this.folder, { recursive: true });
  }
}

function entryOf(url: string, ca: string, { name, more = '' }: LoginEntry): string {
  return `
- issuer:
    url: ${url}
    audiences: [elsewhere]
    certificateAuthority: |
${indented(ca)}
  claimValidationRules:
  - claim: hd
    requiredValue: example.com
  claimMappings:
    username: { claim: sub, prefix: 'oidc:' }
    groups: { claim: groups, prefix: '' }
    uid: { claim: sid }
  browserLogin:
    name: ${name}
    clientID: homeostat
${more}`;
}
