import { checkDnsSubdomain, checkName } from '@homeostat/controller-runtime/api';

/** The two parts of the name `<plugin>/<name>` of an extension point or an event. */
export interface SharedName {
  /** The name of the plugin. */
  readonly plugin: string;
  readonly rest: string;
}

/**
 * Parses the name `<plugin>/<name>` of an extension point or an event. The first part keeps the names of different
 * plugins apart.
 * @throws TypeError with the whole name and the rule that it breaks.
 */
export function parseSharedName(what: string, name: unknown): SharedName {
  const [plugin = '', rest = '', ...more] = typeof name === 'string' ? name.split('/') : [];
  const [broken] = [...checkName(plugin, 'label'), ...checkDnsSubdomain(rest)];
  if (more.length === 0 && broken === undefined) return { plugin, rest };
  const example = 'must be <plugin>/<name>, such as menu/items';
  throw new TypeError(
    `the name ${JSON.stringify(name)} of ${what} ${example}${broken === undefined ? '' : `: ${broken}`}`,
  );
}
