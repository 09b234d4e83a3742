import { compileValueSchema, serviceOwner } from '@homeostat/apiserver';
import { readYamlDocuments } from '@homeostat/apiserver/command-line';
import type { LocatedYamlDocument } from '@homeostat/apiserver/command-line';
import { checkDnsSubdomain, checkName, unknownKeyOf, isJsonObject } from '@homeostat/controller-runtime/api';
import { posix } from 'node:path';
import semver from 'semver';
import { checkPermissions, checkRoles } from './permission-rules.ts';
import type { PermissionRule, PluginRole } from './permission-rules.ts';
import { yamlLimits } from '../text/yaml-mapping.ts';

/** Another plugin that this one needs. */
interface PluginDependency {
  readonly name: string;
  /** semver range. */
  readonly range: string;
  /** True when the other plugin may be absent. If it is present, its version must be in the range. */
  readonly optional: boolean;
}

/** `plugin.yaml`, checked. */
export interface PluginManifest {
  /** The name of the plugin. The rule for `metadata.name` applies (section 2.4 of the specification). */
  readonly name: string;
  /** semver. */
  readonly version: string;
  /** The versions of the host that the plugin accepts, as a semver range. Default: any. */
  readonly requires: string;
  /** The revision of the specification for which the plugin is written (section 9). Default `2.15`. */
  readonly revision: '2.15' | '2.9';
  /**
   * The domain of the plugin: the groups of its models are this domain or a subdomain of it. Default: any domain that
   * is not reserved.
   */
  readonly group?: string;
  readonly dependencies: readonly PluginDependency[];
  /** The path of the module that exports the plugin, relative to the plugin's folder. Default `dist/index.js`. */
  readonly main: string;
  /**
   * The JSON Schema of the plugin's settings, in the dialect of models. It describes an object. Default: the plugin has
   * no settings.
   */
  readonly settings?: object;
  /**
   * The permissions of the plugin's client. Default: everything in the plugin's own groups; reading namespaces and the
   * kinds that its controllers read; getting, creating and patching objects of the kinds of its declared objects.
   */
  readonly permissions?: readonly PermissionRule[];
  /** The roles that the plugin offers to users. */
  readonly roles?: readonly PluginRole[];
  readonly displayName?: string;
  readonly description?: string;
}

/** A problem, and the path of its field in the manifest. */
interface Mistake {
  readonly field: string;
  readonly message: string;
}

/** Returns the problems of a key's value. */
type Check = (value: unknown, key: string) => readonly Mistake[];

/**
 * Returns a check that finds at most one mistake. Its message is the key, followed by the text that `check` returns.
 */
function single(check: (value: unknown) => string | undefined): Check {
  return (value, key) => {
    const message = check(value);
    return message === undefined ? [] : [{ field: key, message: `${key}: ${message}` }];
  };
}

const checks: Readonly<Record<keyof PluginManifest, Check>> = {
  name: single(
    (value) => text(value) ?? (value === serviceOwner ? 'is reserved' : checkName(String(value), 'label')[0]),
  ),
  version: single(
    (value) => text(value) ?? (semver.valid(String(value)) === null ? 'must be a version such as 1.0.0' : undefined),
  ),
  requires: single(checkRange),
  revision: single((value) => (value === '2.15' || value === '2.9' ? undefined : 'must be "2.15" or "2.9", in quotes')),
  group: single((value) => text(value) ?? checkGroup(String(value))),
  dependencies: checkDependencies,
  main: single((value) => text(value) ?? checkMain(String(value))),
  settings: checkSettings,
  permissions: checkPermissions,
  roles: checkRoles,
  displayName: single(text),
  description: single(text),
};

const checksByKey: Readonly<Record<string, Check>> = checks;

const required: readonly string[] = ['name', 'version'];

/**
 * Reads a manifest. `file` is its name in messages. Throws Error with every mistake at once, each with its line:
 * `plugin.yaml:3: version: must be a version such as 1.0.0`. Only a missing `name` or `version` has no line.
 */
export function parseManifest(yaml: string, file = 'plugin.yaml'): PluginManifest {
  const { value, lineOf } = readDocument(yaml, file);
  if (!isJsonObject(value)) throw new Error(`${file}:${lineOf('')}: must be a mapping of keys to values`);
  const problems = [
    ...required.filter((key) => !Object.hasOwn(value, key)).map((key) => `${file}: ${key}: is missing`),
    ...mistakesOf(value).map(({ field, message }) => `${file}:${lineOf(field)}: ${message}`),
  ];
  if (problems.length > 0) throw new Error(problems.join('; '));
  return Object.freeze({
    requires: '*',
    revision: '2.15',
    main: 'dist/index.js',
    ...(value as unknown as Pick<PluginManifest, 'name' | 'version'>),
    dependencies: dependenciesOf(value['dependencies'] ?? {}),
  });
}

/** Returns the one document of the file; an empty mapping for an empty file. */
function readDocument(yaml: string, file: string): Pick<LocatedYamlDocument, 'value' | 'lineOf'> {
  const documents = readYamlDocuments(yaml, yamlLimits);
  const wrong = documents.flatMap((each) => ('message' in each ? [`${file}:${each.line}: ${each.message}`] : []));
  if (wrong.length > 0) throw new Error(wrong.join('; '));
  const [first = { value: {}, lineOf: () => 1 }, second] = documents.filter((each) => 'value' in each);
  if (second !== undefined)
    throw new Error(`${file}:${second.line}: has ${documents.length} documents, but may have only one`);
  return first;
}

function mistakesOf(fields: Readonly<Record<string, unknown>>): readonly Mistake[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const check = Object.hasOwn(checks, key) ? checksByKey[key] : undefined;
    if (check !== undefined) return check(value, key);
    return [{ field: key, message: unknownKeyOf({ [key]: value }, Object.keys(checks)) ?? '' }];
  });
}

/** The properties of the host against which a manifest is checked. */
export interface HostFacts {
  readonly version: string;
  /** The domain of the groups that are reserved for the server. */
  readonly serviceDomain: string;
}

/**
 * Checks that this host can run a plugin: the manifest accepts the version of the host, and the group of the plugin is
 * not reserved for the server.
 * @throws Error that names the problem.
 */
export function checkFits(manifest: PluginManifest, { version, serviceDomain }: HostFacts): void {
  checkRequires(manifest, version);
  const { group } = manifest;
  if (group !== undefined && (group === serviceDomain || group.endsWith(`.${serviceDomain}`)))
    throw new Error(
      `plugin.yaml: group: ${group} is reserved: ${serviceDomain} and its subdomains belong to the server`,
    );
}

/** Throws when the manifest requires another version of the host. */
export function checkRequires(manifest: PluginManifest, hostVersion: string): void {
  if (semver.satisfies(hostVersion, manifest.requires)) return;
  throw new Error(`requires homeostat ${manifest.requires}, but this is ${hostVersion}`);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? undefined : 'must be a text';
}

function checkRange(value: unknown): string | undefined {
  const valid = typeof value === 'string' && semver.validRange(value) !== null;
  return valid ? undefined : 'must be a range of versions such as ^1.2.0';
}

function checkGroup(group: string): string | undefined {
  return group.includes('.') ? checkDnsSubdomain(group)[0] : 'must be a domain with at least one dot';
}

/** Checks the text of the path only. The file and its links are checked when the plugin is installed or loaded. */
function checkMain(main: string): string | undefined {
  const isInside = !posix.isAbsolute(main) && !posix.normalize(main).startsWith('..') && !/[\\\0]/.test(main);
  return isInside ? undefined : "must be a file inside the plugin's folder";
}

function checkSettings(value: unknown, key: string): readonly Mistake[] {
  if (!isJsonObject(value) || value['type'] !== 'object')
    return [{ field: key, message: `${key}: must be the JSON Schema of an object` }];
  try {
    compileValueSchema(key, value);
    return [];
  } catch (error) {
    // Only the message of the error is shown. The cause of the error repeats the message with the name of a model that
    // the author did not declare.
    const message = error instanceof Error ? error.message : String(error);
    return [{ field: schemaFieldOf(message, key, value), message: `${key}: ${message}` }];
  }
}

/**
 * Returns the path, in the manifest, of the schema that an error message is about. The message begins with the path of
 * a value, such as `settings.mail.ports.items`, whose schema is at `settings.properties.mail.properties.ports.items`. A
 * message without a path is about the whole schema, at `key`.
 */
function schemaFieldOf(message: string, key: string, settings: unknown): string {
  const [path = key] = /^\w+(?:\.\w+|\[\])*/.exec(message) ?? [];
  let schema = settings;
  let field = key;
  for (const name of path.replaceAll('[]', '.items').split('.').slice(1)) {
    const { properties, items } = isJsonObject(schema) ? schema : {};
    const isProperty = isJsonObject(properties) && Object.hasOwn(properties, name);
    schema = isProperty ? properties[name] : items;
    field += isProperty ? `.properties.${name}` : `.${name}`;
  }
  return field;
}

function checkDependencies(value: unknown, key: string): readonly Mistake[] {
  if (!isJsonObject(value)) return [{ field: key, message: `${key}: must map names of plugins to ranges of versions` }];
  return Object.entries(value).flatMap(([name, range]) => {
    const problem = checkName(name.replace(/\?$/, ''), 'label')[0] ?? checkRange(range);
    return problem === undefined ? [] : [{ field: `${key}.${name}`, message: `${key}: ${name}: ${problem}` }];
  });
}

/** Returns the dependencies of `other: range` entries; `other?: range` is an optional dependency. */
function dependenciesOf(value: unknown): readonly PluginDependency[] {
  return Object.entries(isJsonObject(value) ? value : {}).map(([key, range]) => ({
    name: key.replace(/\?$/, ''),
    range: String(range),
    optional: key.endsWith('?'),
  }));
}
