import { createSecretKey } from 'node:crypto';
import { parseSettings } from '../settings/settings-file.ts';
import { SettingsFileError } from '../settings/fields.ts';
import type { SettingsFields } from '../settings/fields.ts';
import { Encryption } from './encryption.ts';
import type { EncryptionEntry, Provider } from './encryption.ts';
import { keyBytes, keyNamePattern } from './sealed-bytes.ts';
import type { EncryptionKey } from './sealed-bytes.ts';

const apiVersion = 'apiserver.config.k8s.io/v1';
const kind = 'EncryptionConfiguration';

/** The environment variables, which may contain keys. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * An encryption configuration that cannot be used. The message names the file, and the line if a field is wrong. It
 * quotes no key.
 */
export class EncryptionConfigError extends Error {
  override readonly name = 'EncryptionConfigError';
}

/**
 * Parses a file of kind EncryptionConfiguration, as in Kubernetes, with the providers `aesgcm` and `identity`. A key
 * has a `secret`, 32 bytes in base64, or `secretFromEnv`, the name of an environment variable with these bytes. `path`
 * is used in messages.
 * @throws EncryptionConfigError
 */
export function parseEncryptionConfig(text: string, path: string, environment: Environment): Encryption {
  try {
    return new Encryption(new ConfigReader(environment).entries(parseSettings({ path, text })));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // The message of a SettingsFileError already begins with the path.
    throw new EncryptionConfigError(error instanceof SettingsFileError ? message : `${path}: ${message}`);
  }
}

/** Reads the values of a configuration file, and refuses unknown fields. */
class ConfigReader {
  readonly #environment: Environment;
  readonly #keys = new Map<string, EncryptionKey>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  entries(file: SettingsFields): readonly EncryptionEntry[] {
    file.withKeys(['apiVersion', 'kind', 'resources']);
    if (file.text('apiVersion') !== apiVersion) throw file.mistake('apiVersion', `must be ${apiVersion}`);
    if (file.text('kind') !== kind) throw file.mistake('kind', `must be ${kind}`);
    return atLeastOne(file, 'resources').map((entry) => this.#entry(entry.withKeys(['resources', 'providers'])));
  }

  #entry(entry: SettingsFields): EncryptionEntry {
    const resources = entry.texts('resources');
    if (resources.length === 0) throw entry.mistake('resources', 'must be a list with at least one item');
    resources.forEach((resource, index) => checkResource(entry, resource, index));
    return {
      resources,
      providers: atLeastOne(entry, 'providers').flatMap((provider) => this.#providers(provider)),
    };
  }

  #providers(provider: SettingsFields): readonly Provider[] {
    const unknown = provider.names.find((each) => each !== 'aesgcm' && each !== 'identity');
    if (unknown !== undefined)
      throw provider.mistake(unknown, 'is not a provider of this server: use aesgcm or identity');
    const [name, ...others] = provider.names;
    if (name === undefined || others.length > 0) throw provider.mistake('', 'must have one field: aesgcm or identity');
    if (name === 'aesgcm')
      return atLeastOne(provider.mapping(name).withKeys(['keys']), 'keys').map((key) => ({ key: this.#key(key) }));
    const [planted] = provider.mapping(name).names;
    if (planted !== undefined) throw provider.mistake(`${name}.${planted}`, 'is unknown: identity has no fields');
    return [{ key: undefined }];
  }

  #key(fields: SettingsFields): EncryptionKey {
    const name = fields.withKeys(['name', 'secret', 'secretFromEnv']).text('name');
    if (!keyNamePattern.test(name))
      throw fields.mistake(
        'name',
        'must be 1 to 63 letters, digits, ".", "_" or "-", and begin with a letter or digit',
      );
    const key = { name, secret: createSecretKey(this.#secretOf(fields)) };
    const known = this.#keys.get(name);
    if (known !== undefined && !known.secret.equals(key.secret))
      throw fields.mistake(
        'name',
        'names another key in this file already; objects are stored with the name of their key',
      );
    this.#keys.set(name, known ?? key);
    return known ?? key;
  }

  #secretOf(fields: SettingsFields): Buffer {
    const secret = fields.optionalText('secret');
    const variable = fields.optionalText('secretFromEnv');
    if (secret !== undefined && variable === undefined) return keyOf(fields, 'secret', { text: secret, subject: '' });
    if (secret !== undefined || variable === undefined)
      throw fields.mistake('', 'must have one of secret and secretFromEnv');
    if (!/^[A-Za-z_]\w*$/.test(variable))
      throw fields.mistake('secretFromEnv', 'must be the name of an environment variable');
    const found = this.#environment[variable];
    if (found === undefined) throw fields.mistake('secretFromEnv', `the environment has no variable ${variable}`);
    return keyOf(fields, 'secretFromEnv', { text: found, subject: `the variable ${variable} ` });
  }
}

/** Returns the key in a text. The error never quotes the text, which may be a key with a typing mistake. */
function keyOf(
  fields: SettingsFields,
  name: string,
  { text, subject }: { readonly text: string; readonly subject: string },
): Buffer {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(text.trim()) && bytes.length === keyBytes) return bytes;
  const form = `${keyBytes} bytes in base64, as "openssl rand -base64 ${keyBytes}" prints them`;
  throw fields.mistake(name, `${subject}must be ${form}`);
}

/**
 * Checks that a resource is written like `secrets`, `persons.people.example.com`, `*.people.example.com`, `*.` or
 * `*.*`.
 */
function checkResource(fields: SettingsFields, resource: string, index: number): void {
  const isResource = /^(\*|[a-z0-9-]+)(\.(\*|[a-z0-9.-]*))?$/.test(resource) && resource !== '*';
  if (isResource && !/^[^*].*\*$/.test(resource)) return;
  throw fields.mistake(
    `resources[${index}]`,
    'must be a resource such as secrets, persons.people.example.com, *.people.example.com, *. or *.*',
  );
}

function atLeastOne(fields: SettingsFields, name: string): readonly SettingsFields[] {
  const items = fields.items(name);
  if (items.length === 0) throw fields.mistake(name, 'must be a list with at least one item');
  return items;
}
