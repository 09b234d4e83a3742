/**
 * Matches npm settings about registries, credentials, the network, the cache and the age of versions. Only these
 * settings of the machine's npm are used in an installation.
 */
const ofRegistries =
  /^(?:registry|@[^:]+:registry|\/\/.+|ca|ca\[\]|cafile|(?:https?-)?proxy|no-?proxy|strict-ssl|local-address|fetch-[a-z-]+|maxsockets|cache|before|min-release-age(?:-exclude(?:\[\])?)?)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the text of an .npmrc that has only settings about registries and downloads (see `ofRegistries`): first those
 * of the given .npmrc texts, then those of the environment. A later setting overrides an earlier one.
 */
export function registrySettings(files: readonly string[], environment: Environment): string {
  const fromFiles = files.flatMap((text) => text.split(/\r?\n/).flatMap((line) => settingOf(line, environment)));
  const settings = [...fromFiles, ...Object.entries(environment).flatMap(fromEnvironment)];
  return settings.map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join('');
}

type Setting = readonly [key: string, value: string];

function settingOf(line: string, environment: Environment): readonly Setting[] {
  const [, key = '', value = ''] = /^\s*([^;#[=\s][^=]*?)\s*(?:=\s*(.*?)\s*)?$/.exec(line) ?? [];
  const setting: Setting = [replaceVariables(key, environment), replaceVariables(unquoted(value), environment)];
  return ofRegistries.test(setting[0]) ? [setting] : [];
}

/** Returns a value of an .ini file without its quotes, or without the comment that follows a value without quotes. */
function unquoted(value: string): string {
  if (/^"(?:[^"\\]|\\["\\/])*"$/.test(value)) return String(JSON.parse(value));
  if (/^(["']).*\1$/.test(value)) return value.slice(1, -1);
  return value
    .replace(/(?<!\\)[;#].*$/, '')
    .trim()
    .replaceAll(/\\([;#])/g, '$1');
}

/**
 * Replaces `${NAME}` and `${NAME?}` with environment variables, as npm does. Without the variable, `${NAME}` stays, and
 * `${NAME?}` becomes empty.
 */
function replaceVariables(text: string, environment: Environment): string {
  return text.replaceAll(
    /(?<!\\)\$\{([^${}?]+)(\?)?\}/g,
    (whole, name: string, optional?: string) => environment[name] ?? (optional === undefined ? whole : ''),
  );
}

/** Returns the setting of an environment variable such as `npm_config_registry` or `npm_config_//host/:_authToken`. */
function fromEnvironment([name, value = '']: readonly [string, string | undefined]): readonly Setting[] {
  const [, given = ''] = /^npm_config_(.+)$/i.exec(name) ?? [];
  const key = given.startsWith('//') ? given : given.toLowerCase().replaceAll(/(?!^)_/g, '-');
  return value !== '' && ofRegistries.test(key) ? [[key, value]] : [];
}
