import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { npmTarball } from './tarball.fixture.ts';

export interface RegistryPackage {
  /** The fields of the package.json of this package. */
  readonly manifest: { readonly name: string; readonly version: string; readonly [key: string]: unknown };
  readonly files?: Readonly<Record<string, string>>;
}

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** An npm registry on the loopback address that records its requests. */
export class TestRegistry {
  readonly seen: SeenRequest[] = [];
  readonly #packages: RegistryPackage[] = [];
  readonly #server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    this.seen.push({ path, headers: request.headers });
    const answer = this.#answer(path);
    response.writeHead(answer === undefined ? 404 : 200).end(answer ?? '{}');
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  add(...packages: readonly RegistryPackage[]): void {
    this.#packages.push(...packages);
  }

  #answer(path: string): string | Buffer | undefined {
    const [, name = '', version] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+)\.tgz)?$/.exec(path) ?? [];
    const found = this.#packages.filter(({ manifest }) => manifest.name === name);
    const wanted = found.find(({ manifest }) => manifest.version === version);
    if (wanted !== undefined) {
      const files = { 'package.json': JSON.stringify(wanted.manifest), ...wanted.files };
      return npmTarball(files);
    }
    if (found.length === 0 || version !== undefined) return undefined;
    const versions = found.map(({ manifest }) => [
      manifest.version,
      { ...manifest, dist: { tarball: `${this.url}${name}/-/${manifest.version}.tgz` } },
    ]);
    const latest = found.at(-1)?.manifest.version;
    return JSON.stringify({ name, 'dist-tags': { latest }, versions: Object.fromEntries(versions) as object });
  }
}
