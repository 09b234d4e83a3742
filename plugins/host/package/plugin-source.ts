import type { Declaration } from '../declared/declared-object.ts';
import type { PluginManifest } from '../manifest/manifest.ts';

/** The source of a plugin. */
export interface PluginSource {
  readonly manifest: PluginManifest;
  /** The real path; absent for a plugin without a folder. */
  readonly folder?: string;
  /** Runs the plugin's module, and returns its export, which is not checked yet. */
  load(): Promise<unknown>;
  /** The declarations of its files, and their mistakes. */
  declaredObjects(): Promise<readonly Declaration[]>;
  /** Real path of the folder of its static files; undefined when it has none. Rejects when a link leads out of the plugin's folder. */
  assets(): Promise<string | undefined>;
  /**
   * Reads the plugin again from its present files; absent for a plugin without files. Rejects when they cannot be read.
   */
  reopen?(): Promise<PluginSource>;
}

/** The permissions of a program's own code. */
const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];

/**
 * A plugin that is part of the program, in tests or as a program's own plugin. It has the permissions of the program.
 */
export function pluginSource(name: string, plugin: unknown): PluginSource {
  const manifest: PluginManifest = {
    name,
    version: '0.0.0',
    requires: '*',
    revision: '2.15',
    dependencies: [],
    main: 'dist/index.js',
    permissions: everything,
  };
  return { manifest, load: async () => plugin, declaredObjects: async () => [], assets: async () => undefined };
}
