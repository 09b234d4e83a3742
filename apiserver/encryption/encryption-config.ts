import { createSecretKey } from 'node:crypto';
import { isApiError } from '@homeostat/controller-runtime/api';
import { LineIndex } from '../decode/line-index.ts';
import { constructYaml, parseYamlDocuments, parseYamlEvents } from '../decode/yaml-body.ts';
import { YamlPlaces } from '../decode/yaml-places.ts';
import { Encryption } from './encryption.ts';
import type { EncryptionEntry, Provider } from './encryption.ts';
import { keyBytes, keyNamePattern } from './sealed-bytes.ts';
import type { EncryptionKey } from './sealed-bytes.ts';

const apiVersion = 'apiserver.config.k8s.io/v1';
const kind = 'EncryptionConfiguration';
const limits = { maxDepth: 16 } as const;

/** The variables of the environment, in which keys may be. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** An encryption configuration that cannot be used. The message names file and line, and quotes no key. */
export class EncryptionConfigError extends Error {
  override readonly name = 'EncryptionConfigError';
}

/**
 * Parses a file of kind EncryptionConfiguration, as Kubernetes has it, with the providers `aesgcm` and `identity`. A key has a
 * `secret`, 32 bytes in base64, or names a variable that holds them: `secretFromEnv`. `path` stands in messages.
 * @throws EncryptionConfigError
 */
export function parseEncryptionConfig(text: string, path: string, environment: Environment): Encryption {
  try {
    const [document, ...others] = parseYamlDocuments(text, limits);
    if (others.length > 0) throw new FieldProblem('', `holds ${others.length + 1} documents, and must hold one`);
    return new Encryption(new ConfigReader(environment).entries(document?.value));
  } catch (error) {
    if (error instanceof FieldProblem) {
      const { field, message } = error;
      throw new EncryptionConfigError(`${path}:${lineOf(text, field)}: ${field === '' ? '' : `${field}: `}${message}`);
    }
    // A message of the parser names the line and quotes no value.
    if (isApiError(error)) throw new EncryptionConfigError(`${path}: ${error.message}`);
    throw new EncryptionConfigError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

class FieldProblem extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

function lineOf(text: string, field: string): number {
  const events = parseYamlEvents(text, limits);
  constructYaml(text, events);
  const places = new YamlPlaces(text, events);
  return new LineIndex(text).lineAt((field === '' ? places.start : places.offsetOf(field)) ?? places.start ?? 0);
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads the values of a file, and refuses what it does not know. */
class ConfigReader {
  readonly #environment: Environment;
  readonly #keys = new Map<string, EncryptionKey>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  entries(value: unknown): readonly EncryptionEntry[] {
    const file = fieldsOf('', value, ['apiVersion', 'kind', 'resources']);
    if (file['apiVersion'] !== apiVersion) throw new FieldProblem('apiVersion', `must be ${apiVersion}`);
    if (file['kind'] !== kind) throw new FieldProblem('kind', `must be ${kind}`);
    return itemsOf('resources', file['resources']).map((item, index) => this.#entry(`resources[${index}]`, item));
  }

  #entry(field: string, value: unknown): EncryptionEntry {
    const { resources, providers } = fieldsOf(field, value, ['resources', 'providers']);
    return {
      resources: itemsOf(`${field}.resources`, resources).map((item, index) =>
        resourceOf(`${field}.resources[${index}]`, item),
      ),
      providers: itemsOf(`${field}.providers`, providers).flatMap((item, index) =>
        this.#providers(`${field}.providers[${index}]`, item),
      ),
    };
  }

  #providers(field: string, value: unknown): readonly Provider[] {
    const provider = fieldsOf(
      field,
      value,
      ['aesgcm', 'identity'],
      'is no provider of this server: use aesgcm or identity',
    );
    const [name, ...others] = Object.keys(provider);
    if (name === undefined || others.length > 0)
      throw new FieldProblem(field, 'must have one field: aesgcm or identity');
    if (name === 'identity') {
      fieldsOf(`${field}.identity`, provider['identity'], []);
      return [{ key: undefined }];
    }
    const { keys } = fieldsOf(`${field}.aesgcm`, provider['aesgcm'], ['keys']);
    return itemsOf(`${field}.aesgcm.keys`, keys).map((item, index) => ({
      key: this.#key(`${field}.aesgcm.keys[${index}]`, item),
    }));
  }

  #key(field: string, value: unknown): EncryptionKey {
    const { name, secret, secretFromEnv } = fieldsOf(field, value, ['name', 'secret', 'secretFromEnv']);
    if (typeof name !== 'string' || !keyNamePattern.test(name))
      throw new FieldProblem(
        `${field}.name`,
        'must be 1 to 63 letters, digits, ".", "_" or "-", and begin with a letter or digit',
      );
    const key = { name, secret: createSecretKey(this.#secretOf(field, { secret, secretFromEnv })) };
    const known = this.#keys.get(name);
    if (known !== undefined && !known.secret.equals(key.secret))
      throw new FieldProblem(
        `${field}.name`,
        'names another key in this file already; objects are stored with the name of their key',
      );
    this.#keys.set(name, known ?? key);
    return known ?? key;
  }

  #secretOf(field: string, { secret, secretFromEnv }: Fields): Buffer {
    if ((secret === undefined) === (secretFromEnv === undefined))
      throw new FieldProblem(field, 'must have one of secret and secretFromEnv');
    if (secret !== undefined) return keyOf(`${field}.secret`, secret, '');
    const place = `${field}.secretFromEnv`;
    if (typeof secretFromEnv !== 'string' || !/^[A-Za-z_]\w*$/.test(secretFromEnv))
      throw new FieldProblem(place, 'must be the name of an environment variable');
    const found = this.#environment[secretFromEnv];
    if (found === undefined) throw new FieldProblem(place, `the environment has no variable ${secretFromEnv}`);
    return keyOf(place, found, `the variable ${secretFromEnv} `);
  }
}

/** Never quotes the value, which may be a key with a typing mistake. */
function keyOf(field: string, value: unknown, subject: string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value.trim(), 'base64') : undefined;
  const isWhole = typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value.trim());
  if (bytes !== undefined && isWhole && bytes.length === keyBytes) return bytes;
  throw new FieldProblem(
    field,
    `${subject}must be ${keyBytes} bytes in base64, as "openssl rand -base64 ${keyBytes}" prints them`,
  );
}

/** `secrets`, `persons.people.example.com`, `*.people.example.com`, `*.` or `*.*`. */
function resourceOf(field: string, value: unknown): string {
  const isResource = typeof value === 'string' && /^(\*|[a-z0-9-]+)(\.(\*|[a-z0-9.-]*))?$/.test(value) && value !== '*';
  if (isResource && !/^[^*].*\*$/.test(value)) return value;
  throw new FieldProblem(
    field,
    'must be a resource such as secrets, persons.people.example.com, *.people.example.com, *. or *.*',
  );
}

function fieldsOf(field: string, value: unknown, known: readonly string[], rule?: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FieldProblem(field, 'must be a mapping of fields to values');
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const list = known.length === 0 ? 'there are none' : `the fields are ${known.join(', ')}`;
    throw new FieldProblem(field === '' ? name : `${field}.${name}`, rule ?? `is not a field; ${list}`);
  }
  return value as Fields;
}

function itemsOf(field: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  throw new FieldProblem(field, 'must be a list with at least one item');
}
