import { execFile } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { registrySettings } from './registry-settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment variables that npm receives: those that a program needs to run and to reach the network. Only `npm
 * config get` receives all variables. All other npm commands handle packages, which must not see secrets.
 */
const passedOn: ReadonlySet<string> = new Set(
  [
    'PATH',
    'HOME',
    'LANG',
    'LC_ALL',
    'TMPDIR',
    'TMP',
    'TEMP',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    // npm, and the programs that it starts, need these variables on Windows.
    'SYSTEMROOT',
    'SYSTEMDRIVE',
    'COMSPEC',
    'PATHEXT',
    'USERPROFILE',
    'APPDATA',
    'LOCALAPPDATA',
  ].flatMap((name) => [name, name.toLowerCase()]),
);

export interface NpmRun {
  /** The folder in which npm runs. It has no `.npmrc`, and npm does not read the `.npmrc` of a parent folder. */
  readonly project: string;
  /**
   * Gives npm the settings of registries; default true. Set false when npm runs scripts of packages, because they could
   * read the credentials of the registries.
   */
  readonly registries?: boolean;
}

/**
 * Runs npm with only this machine's settings of registries: npm gets generated configuration files, and only the
 * environment variables that it needs. The configuration files are made at the first call.
 */
export class IsolatedNpm {
  readonly #environment: Environment;
  #own: Promise<OwnFiles> | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Runs an npm command in a folder. Rejects with npm's error message. */
  async run(args: readonly string[], { project, registries = true }: NpmRun): Promise<void> {
    this.#own ??= makeOwnFiles(this.#environment);
    const { folder, settings, empty, global } = await this.#own;
    const files = [`--prefix=${project}`, `--userconfig=${registries ? settings : empty}`, `--globalconfig=${global}`];
    // No program is at this path, so npm cannot run git. Otherwise git could fetch a repository that contains an
    // .npmrc file, and npm would follow the settings in that file.
    const git = `--git=${join(folder, 'no-git')}`;
    await npm([...args, ...files, git], { cwd: project, env: this.#passedOn() });
  }

  /** Resolves with the output of `npm --version`, such as `11.14.0`. */
  async version(): Promise<string> {
    this.#own ??= makeOwnFiles(this.#environment);
    const { folder } = await this.#own;
    return (await npm(['--version'], { cwd: folder, env: this.#passedOn() })).trim();
  }

  #passedOn(): Environment {
    return Object.fromEntries(Object.entries(this.#environment).filter(([name]) => passedOn.has(name)));
  }

  /** Removes the generated configuration files. */
  async dispose(): Promise<void> {
    const own = await this.#own?.catch(() => undefined);
    if (own !== undefined) await rm(own.folder, { recursive: true, force: true });
  }
}

interface OwnFiles {
  readonly folder: string;
  readonly settings: string;
  /**
   * The path of an empty file. `global` is another empty file, because npm refuses the same file for the user's and the
   * global configuration.
   */
  readonly empty: string;
  readonly global: string;
}

async function makeOwnFiles(environment: Environment): Promise<OwnFiles> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'homeostat-npm-')));
  try {
    return await fillFolder(folder, environment);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function fillFolder(folder: string, environment: Environment): Promise<OwnFiles> {
  const empty = await writeSettings(folder, 'empty.npmrc', '');
  const global = await writeSettings(folder, 'global.npmrc', '');
  const known = registrySettings(await settingsFiles(folder, environment), environment);
  return { folder, empty, global, settings: await writeSettings(folder, 'registries.npmrc', known) };
}

/** Writes a file that only its owner can read, because it may have credentials. */
async function writeSettings(folder: string, name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

/**
 * Returns the texts of the machine's npm configuration files, whose paths npm itself prints. A missing file counts as
 * empty.
 */
async function settingsFiles(folder: string, env: Environment): Promise<readonly string[]> {
  // The package.json makes the folder a project, so that npm does not look for project settings in a parent folder.
  await writeFile(join(folder, 'package.json'), '{}');
  const said = await npm(['config', 'get', 'globalconfig', 'userconfig'], { cwd: folder, env });
  const paths = ['globalconfig', 'userconfig'].flatMap((key) => new RegExp(`^${key}=(.+)$`, 'm').exec(said)?.[1] ?? []);
  return Promise.all(paths.map(async (path) => readFile(path, 'utf8').catch(() => '')));
}

/** Options of each npm call: npm ignores a workspace in a parent folder, and does not check for its own updates. */
const always = ['--workspaces=false', '--update-notifier=false'];

async function npm(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Environment },
): Promise<string> {
  const run = promisify(execFile)('npm', [...args, ...always], { ...options, maxBuffer: 64 * 1024 * 1024 });
  const { stdout } = await run.catch((error: unknown) => {
    throw npmError(args[0], error);
  });
  return stdout;
}

/** Returns an Error with npm's own message. The message of `error` also has the command line and all of stderr. */
function npmError(verb: string | undefined, error: unknown): Error {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  const said = stderr.split('\n').flatMap((line) => /^npm (?:ERR!|error) (.+)/.exec(line)?.[1] ?? []);
  const lines = said.filter((line) => !line.startsWith('A complete log')).slice(0, 5);
  if (lines.length > 0) return new Error(`npm ${verb} failed: ${lines.join(' ')}`);
  return new Error(`npm ${verb} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
}
