import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute } from './execute.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** One package, as it would be published. */
export interface PackedPackage {
  readonly name: string;
  readonly version: string;
  readonly files: readonly { readonly path: string }[];
  /** Path of the tarball. */
  readonly tarball: string;
}

/** Packs the published packages, from their build, into a folder. */
export async function packPackages(folder: string): Promise<readonly PackedPackage[]> {
  const workspaces = ['controller-runtime', 'apiserver', 'plugins/create-homeostat', 'plugins/console', 'plugins/host'];
  const flags = workspaces.flatMap((path) => ['-w', path]);
  const { stdout } = await execute(
    'npm',
    ['pack', '--json', '--foreground-scripts=false', '--pack-destination', folder, ...flags],
    {
      cwd: root,
    },
  );
  const packed = Object.values(JSON.parse(stdout) as Record<string, PackedPackage & { readonly filename: string }>);
  return packed.map((each) => ({ ...each, tarball: join(folder, each.filename) }));
}
