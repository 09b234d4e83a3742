import { checkDnsSubdomain, checkName } from '@homeostat/controller-runtime/api';

/** The two parts of a name that plugins share. */
export interface SharedName {
  /** The name of the plugin. */
  readonly plugin: string;
  readonly rest: string;
}

/**
 * Reads `<plugin>/<name>`, the form of names of extension points and events, so that plugins cannot take each other's
 * names.
 * @throws TypeError that says which part breaks which rule.
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
