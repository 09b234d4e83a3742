import { compileValueSchema, serviceOwner } from '@homeostat/apiserver';
import { checkDnsSubdomain, checkName } from '@homeostat/controller-runtime/api';
import { posix } from 'node:path';
import semver from 'semver';
import { isMapping, parseYamlMapping } from './yaml-mapping.ts';

/** Another plugin that this one needs. */
interface PluginDependency {
  readonly name: string;
  /** semver range. */
  readonly range: string;
  /** May be absent; when it is there, its version must fit. */
  readonly optional: boolean;
}

/** `plugin.yaml`, checked. */
export interface PluginManifest {
  /** By the rule of metadata.name (spec 2.4). */
  readonly name: string;
  /** semver. */
  readonly version: string;
  /** semver range of the host; default any. */
  readonly requires: string;
  /** Of the interface that the plugin is written for (spec 9). Default `2.15`. */
  readonly revision: '2.15' | '2.9';
  /** The domain it owns: its models are in it or below it. Default: any that is not reserved. */
  readonly group?: string;
  readonly dependencies: readonly PluginDependency[];
  /** The file that exports the plugin, relative to the folder. Default `dist/index.js`. */
  readonly main: string;
  /** JSON Schema of its settings, an object, in the dialect of models. Default: it has none. */
  readonly settings?: object;
  readonly displayName?: string;
  readonly description?: string;
}

/** What is wrong with a value, in words that follow the key; undefined when nothing is. */
type Check = (value: unknown) => string | undefined;

const checks: Readonly<Record<keyof PluginManifest, Check>> = {
  name: (value) => text(value) ?? (value === serviceOwner ? 'is reserved' : checkName(String(value), 'label')[0]),
  version: (value) =>
    text(value) ?? (semver.valid(String(value)) === null ? 'must be a version such as 1.0.0' : undefined),
  requires: checkRange,
  revision: (value) => (value === '2.15' || value === '2.9' ? undefined : 'must be "2.15" or "2.9", in quotes'),
  group: (value) => text(value) ?? checkGroup(String(value)),
  dependencies: checkDependencies,
  main: (value) => text(value) ?? checkMain(String(value)),
  settings: checkSettings,
  displayName: text,
  description: text,
};

const required: readonly string[] = ['name', 'version'];

/** Reads a manifest. Throws Error with every mistake at once, each naming its key. */
export function parseManifest(yaml: string): PluginManifest {
  const fields = parseYamlMapping(yaml);
  const problems = [
    ...required.filter((key) => !Object.hasOwn(fields, key)).map((key) => `${key}: is missing`),
    ...Object.entries(fields).flatMap(([key, value]) => {
      const problem = Object.hasOwn(checks, key) ? checks[key as keyof PluginManifest](value) : unknownKey;
      return problem === undefined ? [] : [`${key}: ${problem}`];
    }),
  ];
  if (problems.length > 0) throw new Error(problems.join('; '));
  return Object.freeze({
    requires: '*',
    revision: '2.15',
    main: 'dist/index.js',
    ...(fields as Pick<PluginManifest, 'name' | 'version'>),
    dependencies: dependenciesOf(fields['dependencies'] ?? {}),
  });
}

/** What a manifest is judged by besides its own rules. */
export interface HostFacts {
  readonly version: string;
  /** The domain of the service's own groups. */
  readonly serviceDomain: string;
}

/** Refuses a manifest for another version of the host, or whose group is the service's own. @throws Error that says which. */
export function checkFits(manifest: PluginManifest, { version, serviceDomain }: HostFacts): void {
  checkRequires(manifest, version);
  const { group } = manifest;
  if (group !== undefined && (group === serviceDomain || group.endsWith(`.${serviceDomain}`)))
    throw new Error(`plugin.yaml: group: ${group} is reserved: ${serviceDomain} and below it are the service's own`);
}

/** Refuses a host of the wrong version. */
export function checkRequires(manifest: PluginManifest, hostVersion: string): void {
  if (semver.satisfies(hostVersion, manifest.requires)) return;
  throw new Error(`requires homeostat ${manifest.requires}, and this is ${hostVersion}`);
}

const unknownKey = `is no key of a manifest; there are ${Object.keys(checks).join(', ')}`;

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

/** What links and the real file say is checked when the folder is opened. */
function checkMain(main: string): string | undefined {
  const isInside = !posix.isAbsolute(main) && !posix.normalize(main).startsWith('..') && !/[\\\0]/.test(main);
  return isInside ? undefined : "must be a file inside the plugin's folder";
}

function checkSettings(value: unknown): string | undefined {
  if (!isMapping(value) || value['type'] !== 'object') return 'must be the JSON Schema of an object';
  try {
    compileValueSchema('settings', value);
    return undefined;
  } catch (error) {
    // Not its cause, which says the same of a model that nobody has declared.
    return error instanceof Error ? error.message : String(error);
  }
}

function checkDependencies(value: unknown): string | undefined {
  if (!isMapping(value)) return 'must map names of plugins to ranges of versions';
  const problems = Object.entries(value).flatMap(([key, range]) => {
    const problem = checkName(key.replace(/\?$/, ''), 'label')[0] ?? checkRange(range);
    return problem === undefined ? [] : [`${key}: ${problem}`];
  });
  return problems.length === 0 ? undefined : problems.join('; ');
}

/** `other: range`, or `other?: range` for one that may be absent. */
function dependenciesOf(value: unknown): readonly PluginDependency[] {
  return Object.entries(value as Readonly<Record<string, string>>).map(([key, range]) => ({
    name: key.replace(/\?$/, ''),
    range,
    optional: key.endsWith('?'),
  }));
}
