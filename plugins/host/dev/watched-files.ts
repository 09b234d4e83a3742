export interface WatchedPlugin {
  /** The file that exports the plugin, as in the manifest. */
  readonly main: string;
  /** True when the code is TypeScript, which is compiled to `main`. */
  readonly isCompiled: boolean;
}

/** Matches the files of a plugin, but not the databases and logs in its folder. */
const ofPlugin = /\.(?:[cm]?[jt]sx?|json|ya?ml)$/;
const generated = /\.(?:[cm]?js|d\.[cm]?ts)$/;
/** Matches the files of tests, which a server never runs. */
const testFiles = /\.(?:test|spec)\.[cm]?[jt]sx?$/;
/** The folders of tests, relative to the plugin's folder. */
const testFolders: readonly string[] = ['test', 'tests', '__tests__'];

/**
 * Selects the paths of a plugin's folder to watch: code, JSON and YAML files, without tests, node_modules and hidden
 * folders. For a plugin in TypeScript, compiled files are also left out.
 */
export function watchedFiles(plugin: WatchedPlugin): (path: string, isFolder: boolean) => boolean {
  const [output = '', ...rest] = plugin.main.split('/').filter((part) => part !== '.');
  return (path, isFolder) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (isFolder) {
      const isOutput = plugin.isCompiled && rest.length > 0 && path === output;
      return !isOutput && name !== 'node_modules' && !name.startsWith('.') && !testFolders.includes(path);
    }
    return ofPlugin.test(name) && !testFiles.test(name) && !(plugin.isCompiled && generated.test(name));
  };
}
