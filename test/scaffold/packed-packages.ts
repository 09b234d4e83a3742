import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute } from './execute.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A package as npm would publish it. */
export interface PackedPackage {
  readonly name: string;
  readonly version: string;
  readonly files: readonly { readonly path: string }[];
  /** The path of the tarball. */
  readonly tarball: string;
}

/** Packs the packages that are published, with their built files, into a folder. */
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
