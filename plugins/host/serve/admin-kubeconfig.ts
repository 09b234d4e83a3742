import { checkToken } from '@homeostat/apiserver/command-line';
import type { AdministratorFile } from '@homeostat/apiserver';
import { readKubeconfig } from '@homeostat/controller-runtime';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { formatKubeconfig } from '../text/kubeconfig-text.ts';
import { writeWhole } from '../text/output-file.ts';
import { secretFileProblem } from '../text/secret-file.ts';

interface ReachableServer {
  readonly url: URL;
  readonly ca: string | undefined;
}

/** The kubeconfig file of the administrator, which contains the token. */
export class AdminKubeconfig implements AdministratorFile {
  /** Absolute. */
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /**
   * Returns the token of the file; undefined if the file does not exist.
   * @throws Error when other users can read the file, or when it has no valid token.
   */
  read(): string | undefined {
    if (!existsSync(this.path)) return undefined;
    const problem = secretFileProblem(this.path);
    if (problem !== undefined) throw new Error(`${this.path}: ${problem}`);
    const { token } = readKubeconfig(this.path);
    // If the file is missing and the database already has a token, the server creates another token only on SQLite.
    // Several machines may share any other database, so another machine may have the file with the token.
    const cure =
      'put the token, or another one, into the file; with SQLite, you can also delete the file: the server then creates the file, with a new token, when it starts';
    if (token === undefined) throw new Error(`${this.path}: has no token: ${cure}`);
    const [invalid] = checkToken(token);
    if (invalid !== undefined) throw new Error(`${this.path}: the token ${invalid}: ${cure}`);
    return token;
  }

  /** Makes the file, readable by its owner only. It names the default address until {@link update} is called. */
  async write(token: string): Promise<void> {
    await this.#write(token, { url: new URL('http://127.0.0.1:8700'), ca: undefined });
  }

  /** Writes the server's address and CA certificate into the file, if the file exists. */
  async update(server: ReachableServer): Promise<void> {
    const token = this.read();
    if (token !== undefined) await this.#write(token, server);
  }

  async #write(token: string, { url, ca }: ReachableServer): Promise<void> {
    const text = formatKubeconfig({ name: 'homeostat', user: 'admin', url, ca, token });
    if (existsSync(this.path) && readFileSync(this.path, 'utf8') === text) return;
    await mkdir(dirname(this.path), { recursive: true });
    await writeWhole(this.path, [Buffer.from(text)], new AbortController().signal);
  }
}
