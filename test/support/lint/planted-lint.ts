import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const run = promisify(execFile);

interface Report {
  readonly diagnostics: readonly { readonly code: string; readonly message: string; readonly filename: string }[];
}

/**
 * Copies the scripts of the checks into a folder, links the packages that the scripts need, and writes the given files
 * by path.
 */
export async function plant(folder: string, planted: Readonly<Record<string, string>>): Promise<void> {
  await cp(join(root, '.ci'), join(folder, '.ci'), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(planted)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/**
 * Lints planted files in a folder that has the linter's configuration. Returns the messages of a rule by path, the last
 * one for each file.
 */
export async function lintPlanted(
  rule: string,
  planted: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'homeostat-lint-')));
  try {
    await cp(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    await plant(folder, planted);
    const folders = new Set(
      Object.keys(planted)
        .map((path) => path.split('/')[0] ?? '.')
        .filter((name) => name !== '.ci'),
    );
    const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
    const linting = run(process.execPath, [oxlint, '--format', 'json', ...folders], { cwd: folder });
    const { stdout } = await linting.catch((error: unknown) => error as { readonly stdout: string });
    const { diagnostics } = JSON.parse(stdout) as Report;
    const ofRule = diagnostics.filter(({ code }) => code === rule);
    return Object.fromEntries(ofRule.map(({ filename, message }) => [filename, message]));
  } finally {
    await rm(folder, { recursive: true });
  }
}
