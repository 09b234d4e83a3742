import { pluginSource } from './plugin-source.ts';
import type { PluginSource } from './plugin-source.ts';

/** A plugin without a folder, with dependencies by name, of any version; one with a question mark is optional. */
export function sourceNeeding(name: string, plugin: unknown, dependencies: readonly string[]): PluginSource {
  const source = pluginSource(name, plugin);
  const needed = dependencies.map((each) => ({
    name: each.replace('?', ''),
    range: '*',
    optional: each.endsWith('?'),
  }));
  return { ...source, manifest: { ...source.manifest, dependencies: needed } };
}
