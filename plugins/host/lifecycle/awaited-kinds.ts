import type { ApiServerOptions, SchemeManager } from '@homeostat/apiserver';
import type { PluginManifest } from '../manifest/manifest.ts';
import type { PluginPhase } from './plugin-state.ts';

/** The identity of a kind in all its versions. */
export interface KindNames {
  readonly group: string;
  readonly plural: string;
}

/** A plugin of the host, also one whose manifest could not be read. */
export interface KnownPlugin {
  readonly name: string;
  readonly phase: PluginPhase;
  readonly isEnabled: boolean;
  /** The group of the plugin's kinds; undefined when the plugin's kinds may be in any group. */
  readonly group: PluginManifest['group'];
}

/**
 * Remembers which plugin served a kind last, so that the kind does not count as removed while its plugin is stopped
 * temporarily.
 */
export class AwaitedKinds {
  /** The plugin of each kind that this process has served. */
  readonly #owners = new Map<string, string>();

  constructor(schemes: Pick<SchemeManager, 'on'>) {
    schemes.on('registered', ({ descriptor, owner }) => this.#owners.set(keyOf(descriptor), owner));
  }

  /**
   * Returns the reason why a kind that was served before is not served now. Returns undefined when no plugin will serve
   * it again, because its plugin was uninstalled, or has started without the kind.
   */
  reasonOf(kind: KindNames, plugins: readonly KnownPlugin[]): string | undefined {
    const owner = this.#owners.get(keyOf(kind));
    const [first] = plugins.filter((plugin) => {
      const mayServe = owner === undefined ? isInGroup(kind.group, plugin.group) : plugin.name === owner;
      return mayServe && plugin.phase !== 'Started';
    });
    if (first === undefined) return undefined;
    return `plugin "${first.name}" is ${first.isEnabled ? first.phase : 'disabled'}`;
  }
}

/**
 * The options of a server whose plugin host is created after the server listens. `host` returns undefined until then.
 */
export function pluginHostOptions(
  host: () => { readinessProblem(): string | undefined; awaitedKind(kind: KindNames): string | undefined } | undefined,
): Required<Pick<ApiServerOptions, 'readyChecks' | 'awaitedKind'>> {
  const early = 'plugins have not been loaded yet';
  return {
    readyChecks: [{ name: 'plugins', check: () => (host() === undefined ? early : host()?.readinessProblem()) }],
    awaitedKind: (kind) => (host() === undefined ? early : host()?.awaitedKind(kind)),
  };
}

/**
 * Returns true when a plugin with the group `own` may serve kinds of `group`: the two are equal, `group` is a subdomain
 * of `own`, or `own` is undefined.
 */
function isInGroup(group: string, own: string | undefined): boolean {
  return own === undefined || group === own || group.endsWith(`.${own}`);
}

function keyOf({ group, plural }: KindNames): string {
  return `${group}/${plural}`;
}
