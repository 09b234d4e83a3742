import { compileValueSchema } from '@homeostat/apiserver';
import type { ValueSchema } from '@homeostat/apiserver';
import type { Logger } from '@homeostat/controller-runtime/api';
import type { Contribution, Contributions, ExtensionPoint, PluginExtensions } from '../sdk/extension-point.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { PointContributions } from './point-contributions.ts';
import { parseSharedName } from '../text/shared-name.ts';

/** The extension points and contributions of one run of a plugin. */
export interface OwnedExtensions {
  readonly extensions: PluginExtensions;
  /** Publishes the plugin's contributions from now on. */
  open(): void;
  /** Removes the plugin's points and its contributions. */
  close(): void;
}

/** A plugin from its start to its stop. A plugin that is started again gets a new party. */
interface Party {
  readonly manifest: Pick<PluginManifest, 'name' | 'dependencies'>;
  readonly logger: Logger;
  isOpen: boolean;
  isClosed: boolean;
}

interface DeclaredPoint {
  readonly owner: Party;
  readonly schema: ValueSchema | undefined;
  readonly contributions: PointContributions;
}

interface Contributed {
  readonly by: Party;
  readonly point: string;
  readonly contribution: Contribution<unknown>;
}

/** An extension point, as `/debug/extensions` shows it. */
export interface PointSummary {
  /** `<plugin>/<point>`. */
  readonly name: string;
  /** The plugin of each contribution. A plugin with two contributions appears twice. */
  readonly contributions: readonly string[];
}

/** The extension points, and the contributions of each plugin to them. */
export class ExtensionTable {
  readonly #order: () => readonly string[];
  readonly #points = new Map<string, DeclaredPoint>();
  readonly #contributed = new Set<Contributed>();
  readonly #openPlugins = new Set<string>();

  /** `order` returns the names of all plugins, dependencies first. */
  constructor(order: () => readonly string[]) {
    this.#order = order;
  }

  /** Returns the interface by which a plugin declares points and contributes values; `logger` is the plugin's own. */
  forPlugin(manifest: Party['manifest'], logger: Logger): OwnedExtensions {
    const party: Party = { manifest, logger, isOpen: false, isClosed: false };
    const extensions: PluginExtensions = {
      declare: (point) => this.#declare(party, point),
      contribute: (point, value) => this.#contribute(party, point, value),
    };
    return {
      extensions: Object.freeze(extensions),
      open: () => this.#open(party),
      close: () => this.#close(party),
    };
  }

  summaries(): readonly PointSummary[] {
    return [...this.#points].map(([name, { contributions }]) => ({ name, contributions: contributions.plugins() }));
  }

  #declare<T>(party: Party, point: ExtensionPoint<T>): Contributions<T> {
    requireRunning(party);
    const { name, schema } = point;
    const owner = parseSharedName('an extension point', name).plugin;
    if (owner !== party.manifest.name)
      throw new Error(
        `the extension point "${name}" belongs to the plugin "${owner}", and not to "${party.manifest.name}"`,
      );
    if (this.#points.has(name)) throw new Error(`the extension point "${name}" is declared already`);
    const compiled = compile(name, schema);
    const contributions = new PointContributions(party.logger);
    this.#points.set(name, { owner: party, schema: compiled, contributions });
    this.#dropUnfit(name, compiled);
    this.#update(name);
    return contributions.contributions();
  }

  #contribute(party: Party, point: ExtensionPoint<unknown>, value: unknown): () => void {
    requireRunning(party);
    const { name } = point;
    this.#requirePoint(party, name);
    const problem = violationsOf(this.#points.get(name)?.schema, value);
    if (problem !== undefined) throw new Error(`${placeOf(party, name)}: ${problem}`);
    const contribution = Object.freeze({ plugin: party.manifest.name, value });
    const contributed: Contributed = { by: party, point: name, contribution };
    this.#contributed.add(contributed);
    this.#update(name);
    return () => {
      if (this.#contributed.delete(contributed)) this.#update(name);
    };
  }

  /**
   * Throws if the point's plugin is neither `party` nor a dependency of `party`. Also throws if the point does not
   * exist, unless its plugin is an optional dependency that is not Started and may declare the point later.
   */
  #requirePoint(party: Party, name: string): void {
    const { manifest } = party;
    const owner = parseSharedName('an extension point', name).plugin;
    const dependency = manifest.dependencies.find((each) => each.name === owner);
    if (dependency === undefined && owner !== manifest.name)
      throw new Error(`${placeOf(party, name)}: the plugin "${owner}" is not among its dependencies`);
    if (this.#points.has(name)) return;
    const mayComeLater = dependency?.optional === true && !this.#openPlugins.has(owner);
    if (!mayComeLater) throw new Error(noSuchPoint(party, name));
  }

  #open(party: Party): void {
    const { name } = party.manifest;
    party.isOpen = true;
    this.#openPlugins.add(name);
    for (const each of this.#contributed) if (!this.#points.has(each.point)) this.#dropWaiting(each, name);
    this.#updateThoseOf(party);
  }

  #close(party: Party): void {
    party.isClosed = true;
    if (party.isOpen) this.#openPlugins.delete(party.manifest.name);
    for (const [name, { owner, contributions }] of this.#points) {
      if (owner !== party) continue;
      contributions.close();
      this.#points.delete(name);
    }
    party.isOpen = false;
    this.#updateThoseOf(party);
    for (const each of this.#contributed) if (each.by === party) this.#contributed.delete(each);
  }

  /**
   * Drops a waiting contribution if its extension point belongs to `plugin`. It is called when `plugin` has started
   * without declaring the extension point.
   */
  #dropWaiting(waiting: Contributed, plugin: string): void {
    if (parseSharedName('an extension point', waiting.point).plugin !== plugin) return;
    this.#contributed.delete(waiting);
    waiting.by.logger.error({ point: waiting.point }, noSuchPoint(waiting.by, waiting.point));
  }

  /** Drops the waiting contributions that do not fit the schema of the point. */
  #dropUnfit(name: string, schema: ValueSchema | undefined): void {
    for (const each of this.#contributed) {
      if (each.point !== name) continue;
      const problem = violationsOf(schema, each.contribution.value);
      if (problem === undefined) continue;
      this.#contributed.delete(each);
      each.by.logger.error({ point: name }, `${placeOf(each.by, name)}: ${problem}`);
    }
  }

  #updateThoseOf(party: Party): void {
    const names = [...this.#contributed].flatMap(({ by, point }) => (by === party ? [point] : []));
    for (const name of new Set(names)) this.#update(name);
  }

  #update(name: string): void {
    const point = this.#points.get(name);
    if (point === undefined) return;
    const order = this.#order();
    const rankOf = ({ plugin }: Contribution<unknown>): number => order.indexOf(plugin);
    const visible = [...this.#contributed].flatMap(({ by, point: at, contribution }) =>
      by.isOpen && at === name ? [contribution] : [],
    );
    point.contributions.update(visible.sort((a, b) => rankOf(a) - rankOf(b)));
  }
}

function requireRunning({ isClosed }: Party): void {
  if (isClosed) throw new Error('the plugin is being stopped');
}

function compile(name: string, schema: object | undefined): ValueSchema | undefined {
  try {
    return schema === undefined ? undefined : compileValueSchema('value', schema);
  } catch (cause) {
    const told = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the schema of the extension point "${name}": ${told}`, { cause });
  }
}

function violationsOf(schema: ValueSchema | undefined, value: unknown): string | undefined {
  const causes = schema?.validate(value) ?? [];
  if (causes.length === 0) return undefined;
  return causes.map(({ field = 'value', message }) => `${field}: ${message}`).join('; ');
}

function placeOf({ manifest }: Party, point: string): string {
  return `plugin "${manifest.name}" contributes to the extension point "${point}"`;
}

function noSuchPoint(party: Party, point: string): string {
  return `${placeOf(party, point)}, which the plugin "${parseSharedName('an extension point', point).plugin}" does not declare`;
}
