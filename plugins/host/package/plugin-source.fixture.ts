import { pluginSource } from './plugin-source.ts';
import type { PluginSource } from './plugin-source.ts';

/**
 * Returns a plugin without a folder. `dependencies` are names of plugins, of any version; a name that ends in a
 * question mark is an optional dependency.
 */
export function sourceNeeding(name: string, plugin: unknown, dependencies: readonly string[]): PluginSource {
  const source = pluginSource(name, plugin);
  const needed = dependencies.map((each) => ({
    name: each.replace('?', ''),
    range: '*',
    optional: each.endsWith('?'),
  }));
  return { ...source, manifest: { ...source.manifest, dependencies: needed } };
}
