import type { DeclaredObject } from './declared-objects.ts';
import type { PluginManifest } from './manifest.ts';

/** Where a plugin comes from. */
export interface PluginSource {
  readonly manifest: PluginManifest;
  /** Real path; absent for a plugin that is no folder. */
  readonly folder?: string;
  /** Runs the plugin's module, and answers what it exports; not yet checked. */
  load(): Promise<unknown>;
  /** Rejects when a file is not what it should be. */
  declaredObjects(): Promise<readonly DeclaredObject[]>;
}

/** A plugin that is in the program already: in tests, and where a program brings its own. */
export function pluginSource(name: string, plugin: unknown): PluginSource {
  const manifest: PluginManifest = {
    name,
    version: '0.0.0',
    requires: '*',
    revision: '2.15',
    dependencies: [],
    main: 'dist/index.js',
  };
  return { manifest, load: async () => plugin, declaredObjects: async () => [] };
}
