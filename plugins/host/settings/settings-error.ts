/** The settings that are stored for a plugin do not fit the schema in its manifest. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}
