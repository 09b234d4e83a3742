import type { Declaration } from '../declared/declared-object.ts';
import type { PluginManifest } from '../manifest/manifest.ts';

/** The place that a plugin comes from, usually a folder: gives the plugin's manifest, code and files. */
export interface PluginSource {
  readonly manifest: PluginManifest;
  /** The real path of the plugin's folder; absent for a plugin without a folder. */
  readonly folder?: string;
  /** Imports the plugin's module, and returns its default export, which is not checked yet. */
  load(): Promise<unknown>;
  /** Reads the objects that the plugin declares in its files, and the mistakes in these files. */
  declaredObjects(): Promise<readonly Declaration[]>;
  /**
   * Returns the real path of the folder of static files; undefined when there is none. Rejects when a link leads out of
   * the plugin's folder.
   */
  assets(): Promise<string | undefined>;
  /**
   * Reads the plugin again from its present files, and rejects when it cannot read them. Absent for a plugin without
   * files.
   */
  reopen?(): Promise<PluginSource>;
}

/** The permissions of plugins that are part of a program: everything. */
const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];

/**
 * Returns the source of a plugin without files, whose code is part of the program, for example of a test. It has all
 * permissions.
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
