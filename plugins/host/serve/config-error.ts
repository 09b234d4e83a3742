/** An error about invalid values of the configuration. Each line of its message names the source of a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
