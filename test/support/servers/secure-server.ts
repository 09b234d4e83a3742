import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiServerOptions } from '@homeostat/apiserver';
import { command } from '../commands/command.ts';
import { TestServer } from './test-server.ts';

export const token = 'correct-horse-battery-staple';

/** A test server with TLS, a certificate of its own CA, {@link token} as its token, and a kubeconfig. */
export class SecureServer {
  readonly http: TestServer;
  readonly folder: string;
  readonly kubeconfig: string;

  private constructor(http: TestServer, folder: string) {
    this.http = http;
    this.folder = folder;
    this.kubeconfig = join(folder, 'kubeconfig');
  }

  static async start(options: ApiServerOptions = {}): Promise<SecureServer> {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-secure-'));
    const directory = join(folder, 'tls');
    const server = new SecureServer(await TestServer.start({ token, tls: { directory }, ...options }), folder);
    const args = ['--tls-dir', directory, '--server', server.http.api.url, '--output', server.kubeconfig];
    const { code, stderr } = await command(['kubeconfig', ...args], { HOMEOSTAT_TOKEN: token });
    if (code !== 0) throw new Error(`no kubeconfig: ${stderr}`);
    return server;
  }

  async stop(): Promise<void> {
    await this.http.stop();
    await rm(this.folder, { recursive: true });
  }
}
