/** Invalid values; each problem names the source of its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
