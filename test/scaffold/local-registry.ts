import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { PackedPackage } from './packed-packages.ts';

const installed = fileURLToPath(new URL('../../../node_modules', import.meta.url));

interface Manifest {
  readonly name: string;
  readonly version: string;
}

interface Version {
  readonly manifest: Manifest;
  readonly write: (response: ServerResponse) => Promise<void>;
}

/**
 * An npm registry on the loopback address, so that tests need no network. It has the tarballs of this repository's own
 * packages, and all packages that are installed in this repository.
 */
export class LocalRegistry {
  readonly #versions = new Map<string, Map<string, Version>>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(decodeURIComponent(request.url ?? ''), response).catch(() => response.destroy());
    });
  }

  static async start(packed: readonly PackedPackage[]): Promise<LocalRegistry> {
    const registry = new LocalRegistry();
    for (const each of packed) await registry.#addTarball(each);
    await registry.#addInstalled(installed);
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #addTarball({ name, tarball }: PackedPackage): Promise<void> {
    // The manifest of the installed package equals that of the tarball, because npm does not change it when it packs.
    const manifest = await readManifest(join(installed, name));
    this.#add(manifest, async (response) => pipeline(createReadStream(tarball), response));
  }

  async #addInstalled(folder: string): Promise<void> {
    for (const path of await packagesIn(folder)) {
      const manifest = await readManifest(path).catch(() => undefined);
      if (manifest === undefined) continue;
      this.#add(manifest, async (response) => writeTarball(path, response));
      await this.#addInstalled(join(path, 'node_modules'));
    }
  }

  /** Adds a package, unless the registry already has its name and version. */
  #add(manifest: Manifest, write: Version['write']): void {
    const versions = this.#versions.get(manifest.name) ?? new Map<string, Version>();
    if (!versions.has(manifest.version)) versions.set(manifest.version, { manifest, write });
    this.#versions.set(manifest.name, versions);
  }

  async #answer(path: string, response: ServerResponse): Promise<void> {
    const [, name = '', version] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+)\.tgz)?$/.exec(path) ?? [];
    const versions = this.#versions.get(name);
    const wanted = version === undefined ? undefined : versions?.get(version);
    if (wanted !== undefined) return wanted.write(response);
    response.writeHead(versions === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(versions === undefined ? { error: 'not found' } : this.#documentOf(name, versions)));
  }

  #documentOf(name: string, versions: ReadonlyMap<string, Version>): object {
    const entries = [...versions].map(([version, { manifest }]) => [
      version,
      { ...manifest, dist: { tarball: `${this.url}/${name}/-/${version}.tgz` } },
    ]);
    return { name, 'dist-tags': { latest: [...versions.keys()][0] }, versions: Object.fromEntries(entries) as object };
  }
}

/** Returns the folders of all packages in a node_modules; an empty list if it does not exist. */
async function packagesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  // Links are left out, because they are this repository's own packages.
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  const lists = await Promise.all(
    folders.map(async ({ name }) => (name.startsWith('@') ? packagesIn(join(folder, name)) : [join(folder, name)])),
  );
  return lists.flat();
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/**
 * Writes a tarball of an installed package, with the files that its install scripts have built. The outermost folder
 * has the name of the package's folder: npm accepts any name, not only `package`.
 */
async function writeTarball(folder: string, response: ServerResponse): Promise<void> {
  const name = basename(folder);
  // node-gyp leaves two hard links to its output. The link in obj.target is left out, because npm accepts no links.
  const needless = [`--exclude=${name}/node_modules`, '--exclude=obj.target'];
  const args = ['-C', dirname(folder), '-cf', '-', ...needless, name];
  const tar = spawn('tar', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await pipeline(tar.stdout, response);
}
