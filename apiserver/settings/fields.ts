import { isJsonObject } from '@homeostat/controller-runtime/api';

/**
 * An error for a file of settings that cannot be used. The message names the file, and the line if the error is in a
 * line. It contains no value that may be secret.
 */
export class SettingsFileError extends Error {
  override readonly name = 'SettingsFileError';
}

/** The path of a file, and the lines of its fields. */
export interface FieldPlaces {
  readonly path: string;
  readonly lineOf: (field: string) => number;
}

/**
 * A YAML mapping in a file of settings. The methods that return a field throw SettingsFileError when the field has
 * another type.
 */
export class SettingsFields {
  readonly #places: FieldPlaces;
  readonly #at: string;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(places: FieldPlaces, at: string, values: Readonly<Record<string, unknown>>) {
    this.#places = places;
    this.#at = at;
    this.#values = values;
  }

  /**
   * Checks the keys of the mapping, and returns the mapping itself. @throws SettingsFileError for a key that is not in
   * `known`, because a misspelt key could disable a check
   */
  withKeys(known: readonly string[]): this {
    for (const name of Object.keys(this.#values)) {
      if (!known.includes(name)) throw this.mistake(name, `is not known here; the known keys are ${known.join(', ')}`);
    }
    return this;
  }

  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  text(name: string): string {
    return this.optionalText(name) ?? this.#refuse(name, 'is required');
  }

  optionalText(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'string') return value;
    return this.#refuse(name, 'must be a text, in quotes if it looks like a number');
  }

  flag(name: string): boolean | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#refuse(name, 'must be true or false');
  }

  /** Returns a list of texts; an empty list when the field is absent. */
  texts(name: string, { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {}): readonly string[] {
    return this.#list(name).map((value, index) => {
      if (typeof value === 'string' && (mayBeEmpty || value !== '')) return value;
      return this.#refuse(`${name}[${index}]`, mayBeEmpty ? 'must be a text' : 'must be a text that is not empty');
    });
  }

  /** Returns the YAML mappings in a list; an empty list when the field is absent. */
  items(name: string): readonly SettingsFields[] {
    return this.#list(name).map((value, index) => this.#mapping(`${name}[${index}]`, value));
  }

  child(name: string): SettingsFields | undefined {
    const value = this.#value(name);
    return value === undefined ? undefined : this.#mapping(name, value);
  }

  /** Returns the YAML mapping in a field. @throws SettingsFileError when the field is absent, or has another type */
  mapping(name: string): SettingsFields {
    return this.#mapping(name, this.#value(name));
  }

  /** Returns the error about a field of this mapping. The name '' means the mapping itself. */
  mistake(name: string, message: string): SettingsFileError {
    const field = this.#path(name);
    const { path, lineOf } = this.#places;
    return new SettingsFileError(`${path}:${lineOf(field)}: ${field === '' ? '' : `${field}: `}${message}`);
  }

  #value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined;
  }

  #list(name: string): readonly unknown[] {
    const value = this.#value(name) ?? [];
    return Array.isArray(value) ? value : this.#refuse(name, 'must be a list');
  }

  #mapping(name: string, value: unknown): SettingsFields {
    if (!isJsonObject(value)) return this.#refuse(name, 'must be a mapping of keys to values');
    return new SettingsFields(this.#places, this.#path(name), value);
  }

  #path(name: string): string {
    return [this.#at, name].filter((part) => part !== '').join('.');
  }

  #refuse(name: string, message: string): never {
    throw this.mistake(name, message);
  }
}
