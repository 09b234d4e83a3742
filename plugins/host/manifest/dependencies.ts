import semver from 'semver';
import type { PluginManifest } from './manifest.ts';

type Manifests = ReadonlyMap<string, PluginManifest>;

/**
 * Returns the reason for each plugin that cannot start, by name: a dependency is missing, has the wrong version, or
 * depends on the plugin itself. The other plugins can be sorted so that dependencies come first. A dependency that
 * fails later is not reported here.
 */
export function dependencyProblems(manifests: Manifests): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const manifest of manifests.values()) {
    const found = [...wrongDependencies(manifest, manifests), ...cycleThrough(manifest.name, manifests)];
    if (found.length > 0) problems.set(manifest.name, found.join('; '));
  }
  return problems;
}

/** Returns the names of all plugins: dependencies before their dependents, otherwise in the order of the map. */
export function dependencyOrder(manifests: Manifests): readonly string[] {
  const order = new Set<string>();
  const entered = new Set<string>();
  function enter(name: string): void {
    const manifest = manifests.get(name);
    if (manifest === undefined || entered.has(name)) return;
    entered.add(name);
    for (const dependency of manifest.dependencies) enter(dependency.name);
    order.add(name);
  }
  for (const name of manifests.keys()) enter(name);
  return [...order];
}

function wrongDependencies({ dependencies }: PluginManifest, manifests: Manifests): readonly string[] {
  return dependencies.flatMap(({ name, range, optional }) => {
    const found = manifests.get(name);
    if (found === undefined) return optional ? [] : [`needs plugin "${name}" ${range}, which is not installed`];
    return semver.satisfies(found.version, range)
      ? []
      : [`needs plugin "${name}" ${range}, but version ${found.version} is installed`];
  });
}

/** Returns the shortest cycle of dependencies that contains a plugin; empty when there is none. */
function cycleThrough(start: string, manifests: Manifests): readonly string[] {
  const cameFrom = new Map<string, string>();
  const waiting = [start];
  for (const name of waiting) {
    for (const dependency of manifests.get(name)?.dependencies ?? []) {
      if (dependency.name === start) return [`depends on itself: ${wayTo(name, start, cameFrom)} → ${start}`];
      if (cameFrom.has(dependency.name)) continue;
      cameFrom.set(dependency.name, name);
      waiting.push(dependency.name);
    }
  }
  return [];
}

function wayTo(name: string, start: string, cameFrom: ReadonlyMap<string, string>): string {
  const way = [name];
  for (let at = name; at !== start;) {
    at = cameFrom.get(at) ?? start;
    way.unshift(at);
  }
  return way.join(' → ');
}
